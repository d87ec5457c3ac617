import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { NoPrimaryError } from '../database-error.js';

/** Milliseconds after the response of a primary until which other hosts are waited for. */
export const WAIT_FOR_OTHERS = 500;

/**
 * Tries all hosts at once. libpq takes the first that is a primary (PostgreSQL manual, chapter 32.1.1.3), but that
 * can be a replaced server which was not shut down: here, the newest timeline wins, and of equal ones the first in
 * the list.
 *
 * @param tryHost resolves with the number of the timeline if the host is a primary. Must have a timeout
 * @throws NoPrimaryError, or the error of the only host
 */
export async function findPrimary(
  urls: readonly string[],
  tryHost: (url: string, signal: AbortSignal) => Promise<number>,
  signal: AbortSignal,
): Promise<string> {
  const end = new AbortController();
  const endOrAbort = AbortSignal.any([end.signal, signal]);
  const errors = new Map<string, unknown>();
  const primaries = new Map<string, number>();
  try {
    signal.throwIfAborted();
    const tries = urls.map(async (url) => {
      try {
        primaries.set(url, await tryHost(url, endOrAbort));
      } catch (error) {
        errors.set(url, error);
        throw error;
      }
    });
    await Promise.any(tries).catch(() => {});
    signal.throwIfAborted();
    if (primaries.size > 0) {
      const wait = sleep(WAIT_FOR_OTHERS, undefined, { ref: false, signal: endOrAbort });
      await Promise.race([Promise.allSettled(tries), wait.catch(() => {})]);
      signal.throwIfAborted();
      const newest = Math.max(...primaries.values());
      return urls.find((url) => primaries.get(url) === newest)!;
    }
    if (urls.length === 1) throw errors.get(urls[0]!);
    throw new NoPrimaryError(new Map(urls.map((url) => [hostOf(url), errors.get(url)])));
  } finally {
    end.abort();
  }
}

/** Host and port, as the driver parses the URL of a single host. */
export function hostOf(url: string): string {
  const { host, port } = new Client(url);
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
