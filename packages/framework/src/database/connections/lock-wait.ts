/** A limit for each wait for a lock. */
export interface LockWait {
  readonly milliseconds: number;
  /** Whether PostgreSQL has ended a wait because of the limit, whatever became of the failure since. */
  isOver: boolean;
}

/** A statement that sets the limit itself, as `SET` or with `set_config()`. */
const SETS_LOCK_WAIT = /\block_timeout\b/i;

/** A statement that can wait for a row, and can be part of a transaction. */
const LOCKS_ROWS =
  /^\s*(insert|update|delete|merge|with)\b|\bfor\s+((no\s+key\s+)?update|(key\s+)?share)\b/i;

/** Limits the waits of a transaction. */
export function limiting(milliseconds: number): string {
  return `SET LOCAL lock_timeout = ${milliseconds}`;
}

export function setsLockWait(text: string): boolean {
  return SETS_LOCK_WAIT.test(text);
}

/** Whether a statement can be given a limit: not one that may be unable to be part of a transaction, such as `VACUUM`. */
export function canLimitLockWait(text: string): boolean {
  return LOCKS_ROWS.test(text) && !setsLockWait(text);
}
