import { setTimeout as sleep } from 'node:timers/promises';
import { isConflict } from './database-error.js';

export const MAX_ATTEMPTS = 3;

/** Milliseconds until the last attempt begins: three that end in deadlocks, of 1 s each, end before the reply timeout. */
export const LAST_BEGINS = 3_000;

/** Longest pause before an attempt, in milliseconds. Each is random, so that rivals do not meet again. */
const MAX_PAUSE = 100;

/**
 * Repeats a transaction that was rolled back because of others, but not a COMMIT without a response: only PostgreSQL can
 * say that nothing has happened.
 *
 * @throws ServiceException `transaction-conflict` if the last attempt was rolled back as well
 */
export async function repeatAfterConflict<Result>(
  transaction: () => Promise<Result>,
): Promise<Result> {
  const start = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction();
    } catch (error) {
      const pause = Math.random() * MAX_PAUSE;
      const isLast = attempt === MAX_ATTEMPTS || performance.now() - start + pause > LAST_BEGINS;
      if (isLast || !isConflict(error)) throw error;
      await sleep(pause);
    }
  }
}
