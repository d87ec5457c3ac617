import { DatabaseError } from 'pg';
import { TypeORMError } from 'typeorm';
import { ERRORS } from '../errors/common-errors.js';
import type { ErrorKind } from '../errors/error-kind.js';
import { ServiceException } from '../errors/service.exception.js';
import { describeError } from '../observability/describe-error.js';

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
 * Functions of PostgreSQL that reject new transactions before their numbers repeat (manual, chapter 24.1.5); reads go
 * on. A statement or a row that is too large has the SQLSTATE, 54000, as well.
 */
const WRAPAROUND: ReadonlySet<string> = new Set(['GetNewTransactionId', 'GetNewMultiXactId']);

/**
 * The function of PostgreSQL that checks row security and the options of views: it rejects a row with 42501, a
 * missing privilege.
 */
const ROW_CHECK = 'ExecWithCheckOptions';

/** The function of PostgreSQL that performs `RAISE`: a trigger rejects a row, with any SQLSTATE. */
const RAISE = 'exec_stmt_raise';

/**
 * In the context of an error: a function of the database ran, such as a trigger, or what computes a column. The server writes the
 * context in the language of its `lc_messages`, and can add the parameters of the statement.
 */
const FUNCTION = /^(?!.*\$1 = ).*\b(PL\/\w+|SQL)\b/m;

/** In the context of an error: the names of functions, in quotes if they need them. */
const FUNCTION_NAMES = /PL\/pgSQL[^(\n]*?(?:"([^"\n]+)"|([^\s."(]+))\(/g;

/** Names of functions that fail for all rows: the functions of change records (`packages/changes/src/frozen`). */
const changesFunctions = new Set<string>();

/** @param signature such as `"begin_tool_changes"()` */
export function noteChangesFunction(signature: string): void {
  const [, quoted, plain] = /^(?:"([^"]+)"|([^"(]+))\(/.exec(signature) ?? [];
  changesFunctions.add((quoted ?? plain)!);
}

/** The only SQLSTATE that these functions raise by themselves: object not in prerequisite state. */
const CHANGES_STATE = '55000';

/**
 * SQLSTATEs of an outage with which a function can fail for some rows only: it lacks a privilege, or calls
 * `currval()` too early. The lock timeout is no such state.
 */
const FUNCTION_STATES = /^(42|55(?!P03))/;

function isInFunction({ where }: DatabaseError): boolean {
  return where !== undefined && FUNCTION.test(where);
}

/** Whether a function has failed by itself, as opposed to the server or the session in which it ran. */
function isOfFunction(error: DatabaseError): boolean {
  if (!isInFunction(error)) return false;
  const isRaised = error.routine === RAISE;
  if (isRaised && error.code !== CHANGES_STATE) return true;
  const names = [...error.where!.matchAll(FUNCTION_NAMES)].map(
    ([, quoted, plain]) => quoted ?? plain,
  );
  if (names.some((name) => changesFunctions.has(name!))) return false;
  return isRaised || FUNCTION_STATES.test(String(error.code));
}

/** The function of PostgreSQL that ends a statement after a timeout. `NOWAIT` has the SQLSTATE of the lock timeout as well. */
const TIMEOUT = 'ProcessInterrupts';

export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '55P03' && error.routine === TIMEOUT;
}

/**
 * Whether the database cannot serve now. Pool and protocol errors have neither class nor code, so every error that is
 * not known to be a bug counts.
 */
export function isOutage(error: unknown): error is Error {
  if (error instanceof DatabaseError) {
    if (error.routine === ROW_CHECK || isOfFunction(error)) return false;
    const isRejected = OUTAGE_STATES.some((state) => String(error.code).startsWith(state));
    return isRejected || WRAPAROUND.has(String(error.routine));
  }
  return error instanceof Error && !BUGS.some((type) => error instanceof type);
}

/** A standby may lack the newest data of the primary, so queries must not read it. */
export class StandbyError extends Error {
  constructor() {
    super('the server is a standby');
  }
}

/** `DATABASE_URL` asks for a server that takes writes. */
export class ReadOnlyError extends Error {
  constructor() {
    super('the sessions of the server are read-only');
  }
}

/** None of several hosts is a primary that responds. */
export class NoPrimaryError extends Error {
  /** @param errors by host and port */
  constructor(readonly errors: ReadonlyMap<string, unknown>) {
    super([...errors].map(([host, error]) => `${host}: ${describeError(error)}`).join(', '));
  }
}

/** The errors of all hosts that were tried. */
export function errorsOf(error: unknown): readonly unknown[] {
  return error instanceof NoPrimaryError ? [...error.errors.values()] : [error];
}

export function isOnlyStandby(error: unknown): boolean {
  return errorsOf(error).every((each) => each instanceof StandbyError);
}

/** Whether the connection failed. If PostgreSQL itself reports the error, the connection works. */
export function isDisconnection(outage: unknown): boolean {
  return !(outage instanceof DatabaseError || isReadOnly(outage));
}

export function isReadOnly(error: unknown): boolean {
  return (
    error instanceof StandbyError ||
    error instanceof ReadOnlyError ||
    (error instanceof DatabaseError && error.code === READ_ONLY)
  );
}

/** A COMMIT after a failed statement: PostgreSQL rolls the transaction back without an error (manual, chapter 3.4). */
export class RolledBackError extends Error {
  override readonly name = 'RolledBackError';

  constructor() {
    super('the transaction was rolled back: the error of one of its statements was caught');
  }
}

const BUGS = [RolledBackError, TypeORMError, TypeError, RangeError, ReferenceError, SyntaxError];

/**
 * Whether the statement fails for all rows: it names what is missing (class 42). An error in a function, such as a
 * trigger, may concern some rows only. So may a syntax error without a position: of a value that is read as a query.
 */
export function isOfStatement(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || error.routine === ROW_CHECK) return false;
  const { code = '', position } = error;
  return (
    code.startsWith('42') && !isInFunction(error) && (code !== '42601' || position !== undefined)
  );
}

/** Whether a single row can have caused the error. No list of SQLSTATEs would be complete: a trigger can fail in any way. */
export function isCausedByRow(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && !isOutage(error) && !isOfStatement(error);
}

export function isTooLarge(error: unknown): boolean {
  return isCausedByRow(error) && error.code === '54000';
}

/** Whether PostgreSQL cannot read or store a value in its column: a data exception, or a query with a syntax error. */
export function isValueRejected(error: unknown): error is DatabaseError {
  return isCausedByRow(error) && /^(22|42601)/.test(String(error.code)) && !isInFunction(error);
}

/** SQLSTATEs of a statement that took too long, or was in the way of other transactions. */
const ENDED_STATES: ReadonlyMap<unknown, ErrorKind> = new Map([
  ['40001', ERRORS.transactionConflict], // serialization failure
  ['40P01', ERRORS.transactionConflict], // deadlock detected
  ['55P03', ERRORS.rowLocked], // lock not available: the lock timeout
  ['57014', ERRORS.databaseTooSlow], // query canceled: the statement timeout
]);

/**
 * With these, a server that works can reject some rows and store others: it cannot reach the server that holds them (a
 * shard of Citus, a foreign table), or cannot read their page.
 */
const PARTIAL_STATES = /^(08|57P0[123]|58|XX)/;

export class RejectedStatementError extends ServiceException {
  /** @param took how long the statement ran, in milliseconds */
  constructor(
    readonly state: string | undefined,
    readonly took = 0,
  ) {
    super(ENDED_STATES.get(state) ?? ERRORS.databaseUnavailable);
  }

  /** Whether the statement can succeed for other rows. */
  get canBePartial(): boolean {
    return PARTIAL_STATES.test(String(this.state));
  }
}

/** Another transaction holds rows of the statement, as opposed to the table. */
export class RowLockedError extends RejectedStatementError {
  constructor() {
    super('55P03');
  }

  override get canBePartial(): boolean {
    return true;
  }
}

/** Another transaction holds rows of a group, whose items were not all performed one by one. */
export class GroupLockedError extends RowLockedError {}

export function isEndedByServer(error: unknown): boolean {
  return error instanceof DatabaseError && ENDED_STATES.has(error.code);
}

/** During the start, the pool passes errors of the driver on. */
export function stateOf(error: unknown): string | undefined {
  if (error instanceof DatabaseError) return error.code;
  return error instanceof RejectedStatementError ? error.state : undefined;
}

/** Whether PostgreSQL rolled a transaction back that may succeed when it is repeated (manual, chapter 13.5). */
export function isConflict(error: unknown): boolean {
  return isOutage(error) && ENDED_STATES.get(stateOf(error)) === ERRORS.transactionConflict;
}

/** Whether a server that works rejects another connection. All errors of PgBouncer have the SQLSTATE 08P01. */
export function isConnectionRejected(error: unknown): boolean {
  return errorsOf(error).some((each) => {
    if (!(each instanceof DatabaseError)) return false;
    return each.code === '08P01'
      ? /connections (allowed|exceeded)/.test(each.message)
      : /^(28|3D|42|53|55)/.test(String(each.code));
  });
}

/** Class 28 of the PostgreSQL manual, appendix A. */
export function isLoginRejected(error: unknown): boolean {
  return errorsOf(error).some(
    (each) => each instanceof DatabaseError && String(each.code).startsWith('28'),
  );
}
