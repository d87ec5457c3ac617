export interface LockWait {
  readonly milliseconds: number;
  /** Whether PostgreSQL has ended a wait because of the limit, even if the error was caught since. */
  isOver: boolean;
}

/** A statement that can wait for a row, and can be part of a transaction. Comments can stand before it. */
const LOCKS_ROWS =
  /^(?:[\s(]|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(?:(?:insert|update|delete|merge|with)\b|select\b[\s\S]*\bfor\s+(?:(?:no\s+key\s+)?update|(?:key\s+)?share)\b)/i;

/** Of several commands, one can end the transaction, so that those before it must not be repeated. */
const SEVERAL = /;\s*\S/;

export function limiting(milliseconds: number): string {
  return `SET LOCAL lock_timeout = ${milliseconds}`;
}

/** As `SET` or with `set_config()`. */
export function setsLockWait(text: string): boolean {
  return /\block_timeout\b/i.test(text);
}

/** Excludes statements that may be unable to be part of a transaction, such as `VACUUM`. */
export function canLimitLockWait(text: string): boolean {
  return LOCKS_ROWS.test(text) && !SEVERAL.test(text) && !setsLockWait(text);
}
