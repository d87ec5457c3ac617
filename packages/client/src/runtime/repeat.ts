import { ERRORS } from './errors.js';
import { ServiceError } from './service-error.js';
import { pause } from './waits.js';

/** The statuses of failures that pass. 502 and 504 come from proxies. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** In milliseconds. Each pause is a random part of a limit that doubles from the first one to the longest one. */
const FIRST_LIMIT = 500;
export const LONGEST_LIMIT = 10_000;

/** In seconds. If the answer asks for a longer wait, another attempt makes no sense now. */
const LONGEST_RETRY_AFTER = 60;

export interface Attempt {
  /** Set when the request is sent. A `TypeError` before that is not from the network. */
  isSent: boolean;
  /** Whether an earlier attempt may have been carried out although it failed. */
  readonly mayBeDone: boolean;
}

export interface RepeatOptions {
  /** How often at most. */
  readonly retries: number;
  /** Ends the pauses. */
  readonly signal: AbortSignal | null;
  /** Whether another attempt could report a failure because this one may have been carried out. */
  readonly isConditional: boolean;
}

/**
 * Repeats an attempt that fails temporarily, after pauses with full jitter.
 *
 * @throws what the last attempt throws, or the reason of the signal
 */
export async function repeat<T>(
  attempt: (state: Attempt) => Promise<T>,
  { retries, signal, isConditional }: RepeatOptions,
): Promise<T> {
  let mayBeDone = false;
  for (let failures = 0; ; failures++) {
    const state: Attempt = { isSent: false, mayBeDone };
    try {
      return await attempt(state);
    } catch (error) {
      if (failures >= retries || !isTemporary(error, state)) throw error;
      mayBeDone ||= !isRefusal(error);
      if (mayBeDone && isConditional) throw error;
      await pause(secondsAfter(error) * 1_000 + backoff(failures), signal);
    }
  }
}

/**
 * A random pause after a failure, in milliseconds.
 *
 * @param failures how many there were in a row before
 */
export function backoff(failures: number): number {
  return Math.random() * Math.min(FIRST_LIMIT * 2 ** failures, LONGEST_LIMIT);
}

function isTemporary(error: unknown, { isSent }: Attempt): boolean {
  if (error instanceof ServiceError) {
    return TEMPORARY.has(error.status) && secondsAfter(error) <= LONGEST_RETRY_AFTER;
  }
  const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
  return isSent && (isTimeout || error instanceof TypeError);
}

/** Whether the service refused the request, and so did not carry it out. If it lost the database, it does not know. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  return error.code !== undefined && error.code !== ERRORS.databaseUnavailable;
}

function secondsAfter(error: unknown): number {
  return error instanceof ServiceError ? (error.retryAfter ?? 0) : 0;
}
