import { ERRORS } from './generated.js';
import { ServiceError } from './service-error.js';
import { pause } from './waits.js';

/** The statuses of errors that pass. 502 and 504 come from proxies. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** In milliseconds. Each pause is a random part of a limit that doubles from the first one to the longest one. */
const FIRST_LIMIT = 500;
export const LONGEST_LIMIT = 10_000;

/** In seconds. If the response asks for a longer wait, another attempt makes no sense now. */
const LONGEST_RETRY_AFTER = 60;

/** @param delayAfter in milliseconds. Throws if there is to be no further attempt */
export async function repeat<T>(
  attempt: () => Promise<T>,
  delayAfter: (error: unknown, failures: number) => number,
  signal: AbortSignal | null,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      await pause(delayAfter(error, failures), signal);
    }
  }
}

/** A random pause (full jitter), in milliseconds, after a number of errors in a row. */
export function backoff(failures: number, first = FIRST_LIMIT, longest = LONGEST_LIMIT): number {
  return Math.random() * Math.min(first * 2 ** failures, longest);
}

/** @param isSent whether a `TypeError` can be from the network */
export function isTemporary(error: unknown, isSent: boolean): boolean {
  if (error instanceof ServiceError) {
    return TEMPORARY.has(error.status) && secondsAfter(error) <= LONGEST_RETRY_AFTER;
  }
  const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
  return isSent && (isTimeout || error instanceof TypeError);
}

/** Whether the service rejected the request, and so did not carry it out. If it lost the database, it does not know. */
export function isRejection(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  return error.code !== undefined && error.code !== ERRORS.databaseUnavailable;
}

export function secondsAfter(error: unknown): number {
  return error instanceof ServiceError ? (error.retryAfter ?? 0) : 0;
}
