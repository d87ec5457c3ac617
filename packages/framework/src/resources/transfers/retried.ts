import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceException } from '../../errors/service.exception.js';

/** The timeout of retries, in milliseconds. A failover takes up to 30 s. */
export const RETRY_TIME = 30_000;

const RETRY_DELAY = 250;

/** Retries work after temporary errors, until the signal aborts. */
export async function retried<Result>(
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + RETRY_TIME;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isTemporary(error) || performance.now() > deadline) throw error;
      await sleep(RETRY_DELAY, undefined, { signal });
    }
  }
}

export function isTemporary(error: unknown): boolean {
  return error instanceof ServiceException && error.kind.isTemporary;
}
