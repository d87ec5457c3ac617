import { DatabaseError } from 'pg';

/**
 * Describes an error for the log and for operators, without statements, values or user names. It never throws, because timers
 * and events call it, where an error would end the process.
 */
export function describeError(error: unknown): string {
  try {
    return describe(error);
  } catch {
    // For example, an object without a prototype, or an error whose message is no string.
    return 'an error that cannot be described';
  }
}

function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join(', ');
  const text = error instanceof Error ? error.message : String(error);
  // Citus names workers with the role: `postgres@10.0.0.7:5432`. Connection errors follow on further lines.
  const message = text.replaceAll(/[^\s@"]+@(?=[^\s@]+:\d+\b)/g, '').replaceAll(/\s*\n\s*/g, ' ');
  // A rejected login contains the role, in the quotation marks of the language of the server.
  return error instanceof DatabaseError && /^(28|53300)/.test(String(error.code))
    ? `${message.replaceAll(/["'«»„“”‘’‹›][^"'«»„“”‘’‹›]+["'«»„“”‘’‹›]/g, '…')} (${error.code})`
    : message;
}
