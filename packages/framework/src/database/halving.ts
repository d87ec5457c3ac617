import { ERRORS } from '../errors/common-errors.js';
import { RefusedStatementError } from './database-failure.js';

/** Rows of the first groups. The number doubles while the database is fast. */
export const FIRST_ROWS = 32;

/**
 * Limits of halving a group that the database refuses, possibly because of only some of its rows. If it refuses all rows,
 * the failures in a row soon end the attempt. The statements are enough for each row of a group of {@link FIRST_ROWS}.
 */
export const MAX_HALVING = { statements: 2 * FIRST_ROWS, failuresInARow: 16 };

/** What a group has cost so far. */
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
    /** Whether the database has refused rows and may store others. */
    isPartial: false,
    /** Whether other groups take its place among those that run. */
    isAside: false,
  };
}

/** Whether the database may store other rows of a group, and the group has not reached its limits. */
export function canBePartial(failure: unknown, halving: Halving): boolean {
  if (!(failure instanceof RefusedStatementError && failure.canBePartial)) return false;
  halving.failuresInARow += 1;
  if (failure.kind === ERRORS.rowLocked) {
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
