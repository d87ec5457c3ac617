import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for the end of work, or until its time, in milliseconds, is over. Keeps no process alive. */
export async function waitAtMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  const late = sleep(milliseconds, undefined, { signal: ended.signal, ref: false });
  try {
    await Promise.race([work, late.catch(() => {})]);
  } finally {
    ended.abort();
  }
}

/** Stops waiting for work, which may ignore the signal, when it aborts. */
export async function unlessAborted<Result>(
  signal: AbortSignal,
  work: Promise<Result>,
): Promise<Result> {
  const aborted = signal.aborted ? Promise.resolve() : once(signal, 'abort');
  return Promise.race([work, aborted.then(() => Promise.reject(signal.reason as Error))]);
}
