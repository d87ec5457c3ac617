import { DatabaseError } from 'pg';
import {
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
  TypeORMError,
} from 'typeorm';
import { PlantStoreError } from '../errors/plant-store.error.js';

/** A transaction that may only read, as on a standby: in the middle of a failover, or behind an old address. */
const READ_ONLY = '25006';

/**
 * SQLSTATEs that say "not now": the statement was in order (PostgreSQL manual, appendix A). Two
 * characters stand for a class, five for one condition.
 */
const NOT_NOW = [
  '08', // connection exception
  READ_ONLY,
  '25P03', // idle in transaction for too long: we were paused
  '25P04', // the same of the transaction as a whole
  '28', // invalid authorization: the password was changed
  '3D000', // the database is not there
  '40', // transaction rollback: serialization failure, deadlock
  '53', // insufficient resources: disk full, too many connections
  '55', // object not in prerequisite state: a lock that is not available in time
  '57', // operator intervention: shutdown, crash recovery, statement timeout
  '58', // system error
  'XX', // internal error: a damaged file
];

/**
 * Whether a failure says that the database cannot serve now, rather than that we asked for something
 * wrong. Pool and protocol errors carry neither class nor code, so what remains is told by elimination.
 */
export function isOutage(failure: unknown): failure is Error {
  const error = driverFailure(failure);
  if (error instanceof DatabaseError) {
    return NOT_NOW.some((state) => String(error.code).startsWith(state));
  }
  return error instanceof Error && !OURS.some((type) => error instanceof type);
}

/** The server follows another one, from which it may be behind: it must not answer in its place. */
export class StandbyError extends Error {
  override readonly name = 'StandbyError';

  constructor() {
    super('the server is a standby');
  }
}

/** Whether an outage is one of the connection. A server that says why it cannot serve is within reach. */
export function isDisconnection(outage: unknown): boolean {
  const error = driverFailure(outage);
  return !(error instanceof DatabaseError || error instanceof StandbyError);
}

/** Whether the connection leads to a server, or a session, that does not write. */
export function isReadOnly(failure: unknown): boolean {
  const error = driverFailure(failure);
  return (
    error instanceof StandbyError || (error instanceof DatabaseError && error.code === READ_ONLY)
  );
}

/** What TypeORM says of a connection that broke while no statement was under way. */
const BROKEN_BETWEEN_STATEMENTS = [
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
];

const OURS = [TypeORMError, TypeError, RangeError, ReferenceError, SyntaxError];

/** Whether one row can have caused the failure: data exception, integrity constraint violation. */
export function isCausedByRow(failure: unknown): boolean {
  return failure instanceof DatabaseError && /^2[23]/.test(String(failure.code));
}

/** Whether the server turned us away for who we are or what we asked for; trying again is no use. */
export function isRefusal(failure: unknown): boolean {
  return failure instanceof DatabaseError && /^(28|3D)/.test(String(failure.code));
}

/** What went wrong, in words that hold no statement, no value and no user: for the log and for operators. */
export function describeFailure(failure: unknown): string {
  const error = driverFailure(failure);
  if (error instanceof AggregateError) return error.errors.map(describeFailure).join(', ');
  const message = error instanceof Error ? error.message : String(error);
  // A refused login names the role, in the language and with the quotation marks of the server.
  return error instanceof DatabaseError && error.code?.startsWith('28')
    ? `${message.replaceAll(/["'«»„“”‘’‹›][^"'«»„“”‘’‹›]+["'«»„“”‘’‹›]/g, '…')} (${error.code})`
    : message;
}

/** What the driver, or our own pool, said, which TypeORM wraps together with the statement. */
export function driverFailure(failure: unknown): unknown {
  if (BROKEN_BETWEEN_STATEMENTS.some((type) => failure instanceof type)) {
    return new PlantStoreError('database-unavailable');
  }
  return failure instanceof QueryFailedError ? failure.driverError : failure;
}
