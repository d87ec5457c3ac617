import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { NoPrimaryError } from './database-failure.js';

/** After this many milliseconds without an answer of a host, the next host is tried as well. */
const HOST_OVERLAP = 500;

/**
 * Tries hosts in order until one is the primary, like libpq (PostgreSQL manual, chapter 32.1.1.3). Unlike libpq, a host
 * that hangs does not delay the next one until its timeout (like RFC 8305, section 5).
 *
 * @param tryHost resolves if the host is the primary. Must have a timeout
 * @returns the URL of the first host that answered
 * @throws NoPrimaryError, or the failure of the only host
 */
export async function findPrimary(
  urls: readonly string[],
  tryHost: (url: string, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<string> {
  const end = new AbortController();
  const abort = (): void => end.abort();
  signal.addEventListener('abort', abort, { once: true });
  const failures = new Map<string, unknown>();
  const tries: Promise<string>[] = [];
  try {
    for (const url of urls) {
      signal.throwIfAborted();
      const answer = tryHost(url, end.signal).then(
        () => url,
        (error: unknown) => {
          failures.set(url, error);
          throw error;
        },
      );
      tries.push(answer);
      const primary = await Promise.race([
        Promise.any(tries).catch(() => undefined),
        answer.catch(() => undefined),
        sleep(HOST_OVERLAP, undefined, { ref: false }),
      ]);
      if (primary !== undefined) return primary;
    }
    return await Promise.any(tries);
  } catch {
    signal.throwIfAborted();
    if (urls.length === 1) throw failures.get(urls[0]!);
    throw new NoPrimaryError(new Map(urls.map((url) => [hostOf(url), failures.get(url)])));
  } finally {
    signal.removeEventListener('abort', abort);
    abort();
  }
}

/** Host and port, as the driver parses the URL of a single host. */
export function hostOf(url: string): string {
  const { host, port } = new Client(url);
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
