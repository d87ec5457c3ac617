import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceException } from '../../errors/service.exception.js';

/** How long an outage is waited for, in milliseconds. A failover takes up to 30 s. */
export const RETRY_TIME = 30_000;

/** Between two attempts, in milliseconds. */
const RETRY_DELAY = 250;

/**
 * Repeats work while it fails temporarily.
 *
 * @param signal ends the repeats
 */
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

function isTemporary(failure: unknown): boolean {
  return failure instanceof ServiceException && failure.kind.isTemporary;
}
