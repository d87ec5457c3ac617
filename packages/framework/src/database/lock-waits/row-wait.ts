import { ERRORS } from '../../errors/common-errors.js';
import { RejectedStatementError, RowLockedError } from '../database-error.js';
import { DATABASE_LIMITS } from '../limits.js';

/**
 * A condition that is always true. From its evaluation until the end of the transaction, statements wait for locks
 * for the milliseconds of the parameter. PostgreSQL has locked the tables of the statement before, so for these it
 * waits longer.
 */
export function rowWait(parameter: string): string {
  return `(SELECT set_config('lock_timeout', ${parameter}, true)) IS NOT NULL`;
}

/**
 * Whether a statement with {@link rowWait} has failed because another transaction holds a row, as opposed to a table.
 *
 * @param took in milliseconds
 */
export function isRowLocked(error: unknown, took: number): boolean {
  const isLocked = error instanceof RejectedStatementError && error.kind === ERRORS.rowLocked;
  return isLocked && took < DATABASE_LIMITS.lock;
}

/**
 * Runs a statement with {@link rowWait}.
 *
 * @throws RowLockedError if another transaction holds a row for longer
 */
export async function beforeRowWait<Result>(run: () => Promise<Result>): Promise<Result> {
  const start = performance.now();
  try {
    return await run();
  } catch (error) {
    throw isRowLocked(error, performance.now() - start) ? new RowLockedError() : error;
  }
}
