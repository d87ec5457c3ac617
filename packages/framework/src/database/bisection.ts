import { ERRORS } from '../errors/common-errors.js';
import { RejectedStatementError } from './database-error.js';

/** Rows of the first groups. The number doubles while the database is fast. */
export const FIRST_ROWS = 32;

/** If the database rejects all rows, the errors in a row soon end it. The statements are enough for the first rows. */
export const MAX_BISECTION = { statements: 2 * FIRST_ROWS, errorsInARow: 16 };

export type Bisection = ReturnType<typeof beginBisection>;

/** @param milliseconds after which no more halves are tried */
export function beginBisection(milliseconds: number) {
  return {
    milliseconds,
    since: performance.now(),
    statements: 0,
    errorsInARow: 0,
    isLocked: false,
    /** Whether the database has rejected rows and may store others. */
    isPartial: false,
    isAside: false,
  };
}

/** Whether the database may store other rows of a group, and the group has not reached its limits. */
export function canBePartial(error: unknown, bisection: Bisection): boolean {
  if (!(error instanceof RejectedStatementError && error.canBePartial)) return false;
  bisection.errorsInARow += 1;
  if (error.kind === ERRORS.rowLocked) {
    // The whole group has waited for the lock. Its parts wait only shortly.
    if (!bisection.isLocked) bisection.since = performance.now();
    bisection.isLocked = true;
  }
  const isWithinLimits =
    bisection.statements < MAX_BISECTION.statements &&
    bisection.errorsInARow < MAX_BISECTION.errorsInARow &&
    performance.now() - bisection.since < bisection.milliseconds;
  bisection.isPartial ||= isWithinLimits;
  return isWithinLimits;
}
