import { DatabaseError } from 'pg';
import { TypeORMError } from 'typeorm';
import { ERRORS } from '../errors/common-errors.js';
import type { ErrorKind } from '../errors/error-kind.js';
import { ServiceException } from '../errors/service.exception.js';
import { describeFailure } from '../observability/describe-failure.js';

/** read-only transaction: by a setting, or because the server is a standby. */
export const READ_ONLY = '25006';

/**
 * SQLSTATEs of a database that cannot serve now, while the statement itself is correct (PostgreSQL manual,
 * appendix A). Two characters stand for a class, five for a single condition.
 */
const OUTAGE_STATES = [
  '08', // connection exception
  READ_ONLY,
  '25P03', // idle in transaction timeout: this process was paused
  '25P04', // transaction timeout
  '28', // invalid authorization: the password was changed
  '3D000', // the database does not exist
  '40', // transaction rollback: serialization failure, deadlock
  '42501', // insufficient privilege: a grant is missing
  '53', // insufficient resources: disk full, too many connections
  '55', // object not in prerequisite state: lock not available
  '57', // operator intervention: shutdown, crash recovery, statement timeout
  '58', // system error
  'XX', // internal error: a damaged file
];

/**
 * Functions of PostgreSQL that refuse new transactions before their numbers repeat (manual, chapter 24.1.5). Reads go on. The
 * SQLSTATE, 54000, is also that of a statement or a row that is too large.
 */
const WRAPAROUND: ReadonlySet<string> = new Set(['GetNewTransactionId', 'GetNewMultiXactId']);

/**
 * The function of PostgreSQL that checks row security and the options of views: it refuses a row, with the SQLSTATE of a
 * missing privilege (42501).
 */
const ROW_CHECK = 'ExecWithCheckOptions';

/** The function of PostgreSQL that performs `RAISE`: a trigger rejects a row, with any SQLSTATE that its author likes. */
const RAISE = 'exec_stmt_raise';

/** In the context of an error: a function of the database ran, such as a trigger. */
const FUNCTION = /^(SQL|PL\/\w+) (function|statement)/m;

/** The functions of a history, which fail for all rows (`packages/changes/src/frozen`). */
const HISTORY_FUNCTION = /^PL\/pgSQL function [^(\n]*(\bbegin_[^(\n]*|_horizon"?)\(/m;

/**
 * SQLSTATEs of an outage with which a function can fail for some rows only: it lacks a privilege, or calls `currval()` too
 * early. The lock timeout is not among them.
 */
const FUNCTION_STATES = /^(42|55(?!P03))/;

/** Whether a function of the database ran, such as a trigger, a check of a domain or what computes a column. */
function isInFunction({ where }: DatabaseError): boolean {
  return where !== undefined && FUNCTION.test(where);
}

/** Whether a function of the service has failed by itself, as opposed to the server or the session in which it ran. */
function isOfFunction(error: DatabaseError): boolean {
  if (!isInFunction(error) || HISTORY_FUNCTION.test(error.where!)) return false;
  return error.routine === RAISE || FUNCTION_STATES.test(String(error.code));
}

/** The function of PostgreSQL that ends a statement after a timeout. Others refuse `NOWAIT`, with the SQLSTATE of the lock timeout. */
const TIMEOUT = 'ProcessInterrupts';

/** Whether a statement has waited for a lock for as long as its session may. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '55P03' && error.routine === TIMEOUT;
}

/**
 * Whether the database cannot serve now, as opposed to a wrong statement. Pool and protocol errors have neither class
 * nor code, so every error that is not known to be a bug counts as an outage.
 */
export function isOutage(error: unknown): error is Error {
  if (error instanceof DatabaseError) {
    if (error.routine === ROW_CHECK || isOfFunction(error)) return false;
    const isRefused = OUTAGE_STATES.some((state) => String(error.code).startsWith(state));
    return isRefused || WRAPAROUND.has(String(error.routine));
  }
  return error instanceof Error && !BUGS.some((type) => error instanceof type);
}

/** The server is a standby. Its data may be behind the primary's, so it must not answer queries. */
export class StandbyError extends Error {
  constructor() {
    super('the server is a standby');
  }
}

/** The sessions of the server are read-only, although `DATABASE_URL` asks for a server that takes writes. */
export class ReadOnlyError extends Error {
  constructor() {
    super('the sessions of the server are read-only');
  }
}

/** None of several hosts is a primary that answers. */
export class NoPrimaryError extends Error {
  /** @param failures by host and port */
  constructor(readonly failures: ReadonlyMap<string, unknown>) {
    super([...failures].map(([host, error]) => `${host}: ${describeFailure(error)}`).join(', '));
  }
}

/** Whether every server that was tried is a standby. */
export function isOnlyStandby(failure: unknown): boolean {
  const all = failure instanceof NoPrimaryError ? [...failure.failures.values()] : [failure];
  return all.every((error) => error instanceof StandbyError);
}

/** Whether the connection failed. If PostgreSQL itself reports the error, the connection works. */
export function isDisconnection(outage: unknown): boolean {
  return !(outage instanceof DatabaseError || isReadOnly(outage));
}

/** Whether the server or the session is read-only. */
export function isReadOnly(error: unknown): boolean {
  return (
    error instanceof StandbyError ||
    error instanceof ReadOnlyError ||
    (error instanceof DatabaseError && error.code === READ_ONLY)
  );
}

/**
 * A transaction was to be committed although one of its statements had failed. PostgreSQL rolls it back without an error
 * (manual, chapter 3.4).
 */
export class RolledBackError extends Error {
  override readonly name = 'RolledBackError';

  constructor() {
    super('the transaction was rolled back: the failure of one of its statements was caught');
  }
}

const BUGS = [RolledBackError, TypeORMError, TypeError, RangeError, ReferenceError, SyntaxError];

/**
 * Whether the statement fails for all rows: it names a column, a table or a key that is missing (class 42). What fails in a function,
 * such as a trigger, has a context, and may fail for some rows only. So may a value that is read as a query: a syntax error without
 * a position in the statement.
 */
export function isOfStatement(failure: unknown): boolean {
  if (!(failure instanceof DatabaseError) || failure.routine === ROW_CHECK) return false;
  const { code = '', position } = failure;
  return (
    code.startsWith('42') && !isInFunction(failure) && (code !== '42601' || position !== undefined)
  );
}

/**
 * Whether a single row can have caused the failure. A list of SQLSTATEs would not be complete: a text can be too long for an
 * index, a trigger can fail in any way, and only for some rows.
 */
export function isCausedByRow(failure: unknown): failure is DatabaseError {
  return failure instanceof DatabaseError && !isOutage(failure) && !isOfStatement(failure);
}

/** Whether a value is too large for PostgreSQL (program limit exceeded), such as a text for an index. */
export function isTooLarge(failure: unknown): boolean {
  return isCausedByRow(failure) && failure.code === '54000';
}

/** Whether PostgreSQL itself cannot read or store a value in its column: a data exception, or a query with a syntax error. */
export function isValueRejected(failure: unknown): failure is DatabaseError {
  return (
    isCausedByRow(failure) && /^(22|42601)/.test(String(failure.code)) && !isInFunction(failure)
  );
}

/** SQLSTATEs of a statement that took too long, or was in the way of other transactions. Others may succeed. */
const ENDED_STATES: ReadonlyMap<unknown, ErrorKind> = new Map([
  ['40001', ERRORS.transactionConflict], // serialization failure
  ['40P01', ERRORS.transactionConflict], // deadlock detected
  ['55P03', ERRORS.rowLocked], // lock not available: the lock timeout
  ['57014', ERRORS.databaseTooSlow], // query canceled: the statement timeout
]);

/**
 * SQLSTATEs with which a server that works can refuse some rows and store others: it cannot reach the server that holds
 * them (a shard of Citus, a foreign table), or that server shuts down; it cannot read their page.
 */
const PARTIAL_STATES = /^(08|57P0[123]|58|XX)/;

/** The server refused the statement: `database-unavailable`, or a code of {@link ENDED_STATES}. */
export class RefusedStatementError extends ServiceException {
  constructor(readonly state: string | undefined) {
    super(ENDED_STATES.get(state) ?? ERRORS.databaseUnavailable);
  }

  /** Whether the statement can succeed for other rows. */
  get canBePartial(): boolean {
    return PARTIAL_STATES.test(String(this.state));
  }
}

/** Another transaction holds some of the rows of a statement, as opposed to the table. */
export class RowLockedError extends RefusedStatementError {
  constructor() {
    super('55P03');
  }

  override get canBePartial(): boolean {
    return true;
  }
}

/** Another transaction holds some of the rows of a group. Not all of its items have been performed without the others. */
export class GroupLockedError extends RowLockedError {}

/** Whether the server ended a statement for its time or for other transactions, and goes on with others. */
export function isEndedByServer(error: unknown): boolean {
  return error instanceof DatabaseError && ENDED_STATES.has(error.code);
}

/** The SQLSTATE with which the server refused a statement. During the start, the pool passes errors of the driver on. */
export function stateOf(failure: unknown): string | undefined {
  if (failure instanceof DatabaseError) return failure.code;
  return failure instanceof RefusedStatementError ? failure.state : undefined;
}

/** Whether PostgreSQL rolled a transaction back that may succeed when it is repeated (manual, chapter 13.5). */
export function isConflict(failure: unknown): boolean {
  return isOutage(failure) && ENDED_STATES.get(stateOf(failure)) === ERRORS.transactionConflict;
}

/**
 * Whether a server that works refuses another connection: the login, the database, the privilege, or for want of room. All
 * failures of PgBouncer have the SQLSTATE 08P01.
 */
export function isTurnedAway(failure: unknown): boolean {
  if (failure instanceof NoPrimaryError) return [...failure.failures.values()].some(isTurnedAway);
  if (!(failure instanceof DatabaseError)) return false;
  return failure.code === '08P01'
    ? /connections (allowed|exceeded)/.test(failure.message)
    : /^(28|3D|42|53|55)/.test(String(failure.code));
}

/** Whether the server refused the login or does not have the database. A retry would fail as well. */
export function isPermanent(failure: unknown): boolean {
  return failure instanceof DatabaseError && /^(28|3D)/.test(String(failure.code));
}

/** Whether a server refused user or password (class 28 of the PostgreSQL manual, appendix A). */
export function isLoginRefused(failure: unknown): boolean {
  if (failure instanceof NoPrimaryError) return [...failure.failures.values()].some(isLoginRefused);
  return failure instanceof DatabaseError && String(failure.code).startsWith('28');
}
