import { ERRORS } from '../../errors/common-errors.js';
import { RejectedStatementError, RowLockedError } from '../database-error.js';
import { DATABASE_LIMITS } from '../limits.js';

/**
 * A condition that is always true. From its evaluation until the end of the transaction, statements wait for locks
 * for the milliseconds of the parameter, or as before if it is null. PostgreSQL has locked the tables of the statement
 * before, so for these it waits longer.
 */
export function rowWait(parameter: string): string {
  return `(SELECT set_config('lock_timeout', coalesce(${parameter}, current_setting('lock_timeout')), true)) IS NOT NULL`;
}

/**
 * @param milliseconds by default, it waits as long as others do
 * @throws RowLockedError if another transaction holds a row for longer
 */
export async function withRowWait<Result>(
  milliseconds: number | undefined,
  run: (parameter: string | null) => Promise<Result>,
): Promise<Result> {
  try {
    return await run(milliseconds === undefined ? null : String(milliseconds));
  } catch (error) {
    if (!(error instanceof RejectedStatementError) || error.kind !== ERRORS.rowLocked) throw error;
    const isOfTable = milliseconds !== undefined && error.took >= DATABASE_LIMITS.lock;
    throw isOfTable ? error : new RowLockedError();
  }
}
