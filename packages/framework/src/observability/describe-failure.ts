import { DatabaseError } from 'pg';

/**
 * Describes a failure for the log and for operators, without statements, values or user names. It never fails: timers and events call
 * it, where a failure would end the process.
 */
export function describeFailure(error: unknown): string {
  try {
    return describe(error);
  } catch {
    // Anything can be thrown: an object without a prototype, an error whose message is no text, or one that contains itself.
    return 'a failure that cannot be described';
  }
}

function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join(', ');
  const text = error instanceof Error ? error.message : String(error);
  // Citus names a worker with the role: `postgres@10.0.0.7:5432`. The connection's own error follows on further lines.
  const message = text.replaceAll(/[^\s@"]+@(?=[^\s@]+:\d+\b)/g, '').replaceAll(/\s*\n\s*/g, ' ');
  // A refused connection contains the role, in the language and with the quotation marks of the server.
  return error instanceof DatabaseError && /^(28|53300)/.test(String(error.code))
    ? `${message.replaceAll(/["'«»„“”‘’‹›][^"'«»„“”‘’‹›]+["'«»„“”‘’‹›]/g, '…')} (${error.code})`
    : message;
}
