import { ERRORS } from './errors.js';
import { ServiceError } from './service-error.js';
import { pause } from './waits.js';

/** The statuses of errors that pass. 502 and 504 come from proxies. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** In milliseconds. Each pause is a random part of a limit that doubles from the first one to the longest one. */
const FIRST_LIMIT = 500;
export const LONGEST_LIMIT = 10_000;

/** In seconds. If the response asks for a longer wait, another attempt makes no sense now. */
const LONGEST_RETRY_AFTER = 60;

/** How long to wait after an error, in milliseconds, before the next attempt. Throws if there is to be none. */
export type DelayAfter = (error: unknown, failures: number) => number | Promise<number>;

/** Repeats an attempt that fails. The signal ends the pauses. */
export async function repeat<T>(
  attempt: () => Promise<T>,
  wait: DelayAfter,
  signal: AbortSignal | null,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      await pause(await wait(error, failures), signal);
    }
  }
}

export interface Attempts {
  readonly retries: number;
  /** Whether another attempt could report an error because an earlier one may have been carried out. */
  readonly isConditional: boolean;
  /** Whether the last one was sent. A `TypeError` before that is not from the network. */
  isSent: boolean;
  /** Whether an earlier attempt may have been carried out although it failed. */
  mayBeDone: boolean;
}

/** After how long a client repeats a request. */
export function delayAfter(error: unknown, failures: number, attempts: Attempts): number {
  const { retries, isConditional, isSent } = attempts;
  if (failures >= retries || !isTemporary(error, isSent)) throw error;
  attempts.mayBeDone ||= !isRefusal(error);
  if (attempts.mayBeDone && isConditional) throw error;
  return secondsAfter(error) * 1_000 + backoff(failures);
}

/**
 * A random pause (full jitter) after a failure, in milliseconds.
 *
 * @param failures how many there were in a row before
 */
export function backoff(failures: number, first = FIRST_LIMIT, longest = LONGEST_LIMIT): number {
  return Math.random() * Math.min(first * 2 ** failures, longest);
}

function isTemporary(error: unknown, isSent: boolean): boolean {
  if (error instanceof ServiceError) {
    return TEMPORARY.has(error.status) && secondsAfter(error) <= LONGEST_RETRY_AFTER;
  }
  const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
  return isSent && (isTimeout || error instanceof TypeError);
}

/** Whether the service rejected the request, and so did not carry it out. If it lost the database, it does not know. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  return error.code !== undefined && error.code !== ERRORS.databaseUnavailable;
}

function secondsAfter(error: unknown): number {
  return error instanceof ServiceError ? (error.retryAfter ?? 0) : 0;
}
