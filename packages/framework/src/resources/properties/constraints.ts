import { DatabaseError } from 'pg';
import { isTooLarge, isValueRejected } from '../../database/database-error.js';
import type { Statements } from '../../database/statements.js';
import { ERRORS } from '../../errors/common-errors.js';
import type { ErrorKind } from '../../errors/error-kind.js';
import { ServiceException } from '../../errors/service.exception.js';
import { stringifyExactJson } from '../../json/exact-json.js';
import type { EntityColumn } from './entity-column.js';
import type { EntityColumns } from './entity-columns.js';

/** The errors for violations of constraints of the database, by the name of the constraint. */
export type ConstraintErrors = Readonly<Record<string, ErrorKind>>;

/**
 * Performs work on the database. A violation of one of the constraints, such as a foreign key or a unique key, becomes its
 * declared error; any other error is rethrown.
 *
 * @example await withConstraintErrors({ loans_tool_id_key: LOAN_ERRORS.loanToolOnLoan }, () => this.rows.insert(loan));
 */
export async function withConstraintErrors<Result>(
  errors: ConstraintErrors,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw constraintError(errors, error);
  }
}

function constraintError(errors: ConstraintErrors, error: unknown): unknown {
  // The error for a text too long for the index of a unique key names the key, too.
  const isViolation = error instanceof DatabaseError && !isTooLarge(error);
  const constraint = isViolation ? error.constraint : undefined;
  const kind = constraint === undefined ? undefined : errors[constraint];
  return kind === undefined ? error : new ServiceException(kind);
}

/** A B-tree takes entries of up to 2,704 bytes (`BTMaxItemSize`), of which some are overhead. */
const INDEXABLE = 2_690;

/** The columns in an index of a table, also in expressions; none if there is no such table. */
const INDEXED = `SELECT DISTINCT attname FROM pg_index
    JOIN pg_attribute ON attrelid = indrelid AND attnum > 0
  WHERE indrelid = to_regclass($1) AND (attnum = ANY (indkey) OR EXISTS (
    SELECT FROM pg_depend
    WHERE classid = 'pg_class'::regclass AND objid = indexrelid AND refobjid = indrelid AND refobjsubid = attnum
  ))`;

/**
 * Reads the names of the columns that are in an index. To be called at the start: later, when a row is rejected, a transaction
 * may hold the only connection.
 */
export async function indexedColumns(
  statements: Statements,
  { table }: EntityColumns,
): Promise<ReadonlySet<string>> {
  const found = await statements.rows<[string]>({ text: INDEXED, values: [table] });
  return new Set(found.map(([name]) => name));
}

/** A trigger can raise any name: it stands in the source of a function, unless the trigger composes it. */
const UNKNOWN = `SELECT wanted FROM unnest($1::text[]) AS wanted
  WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conname = wanted)
    AND NOT EXISTS (SELECT FROM pg_class WHERE relname = wanted)
    AND NOT EXISTS (SELECT FROM pg_proc WHERE strpos(prosrc, wanted) > 0)`;

/** Reads which of the declared constraints nothing in the database seems to have. */
export async function unknownConstraints(
  statements: Statements,
  constraints: ConstraintErrors,
): Promise<readonly string[]> {
  const names = Object.keys(constraints);
  if (names.length === 0) return [];
  const found = await statements.rows<[string]>({ text: UNKNOWN, values: [names] });
  return found.map(([name]) => name);
}

export interface RowErrors {
  readonly constraints: ConstraintErrors;
  /** Known when the database is connected. */
  readonly columns: () => EntityColumns;
  /** From {@link indexedColumns}. */
  readonly indexed: () => ReadonlySet<string>;
}

/**
 * Like {@link withConstraintErrors}, for the work that stores a row. A value that the database rejects becomes `body-not-valid`.
 *
 * @param row the values by property
 */
export async function withRowErrors<Result>(
  options: RowErrors,
  row: object,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw rowError(options, row, error);
  }
}

/** Returns the error that {@link withRowErrors} throws for an error of its work. */
export function rowError(
  { constraints, columns, indexed }: RowErrors,
  row: object,
  error: unknown,
): unknown {
  if (isValueRejected(error)) return valueError(columns(), row, error);
  if (!isTooLarge(error)) return constraintError(constraints, error);
  // PostgreSQL does not always name the index.
  const names = columns()
    .all.filter(({ databaseName }) => indexed().has(databaseName))
    .map(({ property }) => property)
    .filter((property) => bytesOf((row as Record<string, unknown>)[property]) > INDEXABLE);
  const message =
    names.length === 0
      ? 'a member is too large for the database'
      : `${names.join(' or ')} is too long for an index of the database`;
  return new ServiceException(ERRORS.bodyNotValid, message, { cause: error });
}

/** PostgreSQL's message quotes a value that it cannot read, and names the type of a text that is too long. */
function valueError({ all }: EntityColumns, row: object, error: DatabaseError): ServiceException {
  const { message: reason } = error;
  const values = row as Readonly<Record<string, unknown>>;
  const isRejected = ({ property, type, exactType }: EntityColumn): boolean =>
    [values[property]]
      .flat(Infinity)
      .filter((part) => part !== undefined && typeof part !== 'object')
      .some(
        (part) =>
          reason.endsWith(exactType) || (type !== 'text' && reason.includes(`"${String(part)}"`)),
      );
  const names = all
    .filter(isRejected)
    .map(
      ({ property, exactType }) =>
        `${property} must be a value of the type ${exactType.toLowerCase()}`,
    );
  const message = names.join(', or ') || 'a member has a value that the database cannot store';
  return new ServiceException(ERRORS.bodyNotValid, message, { cause: error });
}

function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  return typeof value === 'object' && value !== null ? stringifyExactJson(value).length : 0;
}
