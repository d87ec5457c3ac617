import { ERRORS } from '../errors/common-errors.js';
import { RefusedStatementError } from './database-failure.js';

/** Rows of the first groups. The number doubles while the database is fast. */
export const FIRST_ROWS = 32;

/**
 * Limits of halving a group that the database rejects, possibly because of only some of its rows. If it rejects all
 * rows, the errors in a row soon end the attempt. The statements are enough for each row of a group of {@link
 * FIRST_ROWS}.
 */
export const MAX_HALVING = { statements: 2 * FIRST_ROWS, failuresInARow: 16 };

export type Halving = ReturnType<typeof beginHalving>;

/** @param milliseconds after which no more halves are tried */
export function beginHalving(milliseconds: number) {
  return {
    milliseconds,
    since: performance.now(),
    statements: 0,
    failuresInARow: 0,
    /** Whether rows are locked by another transaction. */
    isLocked: false,
    /** Whether the database has rejected rows and may store others. */
    isPartial: false,
    /** Whether another group runs in its place. */
    isAside: false,
  };
}

/** Whether the database may store other rows of a group, and the group has not reached its limits. */
export function canBePartial(error: unknown, halving: Halving): boolean {
  if (!(error instanceof RefusedStatementError && error.canBePartial)) return false;
  halving.failuresInARow += 1;
  if (error.kind === ERRORS.rowLocked) {
    // The whole group has waited for the lock. Its parts wait only shortly.
    if (!halving.isLocked) halving.since = performance.now();
    halving.isLocked = true;
  }
  const isWithinLimits =
    halving.statements < MAX_HALVING.statements &&
    halving.failuresInARow < MAX_HALVING.failuresInARow &&
    performance.now() - halving.since < halving.milliseconds;
  halving.isPartial ||= isWithinLimits;
  return isWithinLimits;
}
