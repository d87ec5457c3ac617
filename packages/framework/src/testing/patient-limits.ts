import type { DatabaseLimits } from '../database/limits.js';

/** In milliseconds. */
const PATIENCE = 60_000;

/** Limits of a database for tests: a busy machine delays them, and no client waits. */
export const PATIENT = {
  connection: PATIENCE,
  queue: PATIENCE,
  slot: PATIENCE,
  statement: PATIENCE,
  reply: 2 * PATIENCE,
  bisection: PATIENCE,
} as const satisfies Partial<DatabaseLimits>;
