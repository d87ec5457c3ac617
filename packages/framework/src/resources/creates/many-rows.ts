import { STORED_TYPES, UNREAD_TYPES } from '../../database/connections/value-types.js';
import type { Statement, Statements } from '../../database/statements.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { EntityColumns, RowParameters } from '../properties/entity-columns.js';

/** The limits of what a transaction creates or changes at once. All of it is in memory. Bytes are of rows that are read. */
export const MAX_MANY = { rows: 10_000, characters: 16_000_000, bytes: 16_000_000 } as const;

/** So few values that a statement of rows with arrays has room for their parameters. */
const MAX_ROWS = 500;

/** @throws ServiceException `body-too-large` */
export function requireFewRows({ length }: readonly unknown[]): void {
  if (length > MAX_MANY.rows) throw tooLarge(`${length} rows are too many: at most`, MAX_MANY.rows);
}

/** @throws ServiceException `body-too-large` */
export function requireShortRows(columns: EntityColumns, rows: readonly RowParameters[]): void {
  const characters = rows.reduce((sum, row) => sum + columns.lengthOf(row), 0);
  if (characters <= MAX_MANY.characters) return;
  throw tooLarge(`${characters} characters are too many: at most`, MAX_MANY.characters);
}

/** @throws ServiceException `body-too-large` */
export function requireFewBytes(lengths: readonly number[]): void {
  const bytes = lengths.reduce((sum, length) => sum + length, 0);
  if (bytes <= MAX_MANY.bytes) return;
  throw tooLarge(`${bytes} bytes are too many: at most`, MAX_MANY.bytes);
}

/** The rows of a statement. */
export function* partsOf<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let at = 0; at < rows.length; at += MAX_ROWS) yield rows.slice(at, at + MAX_ROWS);
}

/** Rows in the texts of PostgreSQL. */
export interface UnreadRows {
  readonly count: number;
  /** Converts them. */
  read(): readonly (readonly unknown[])[];
}

/**
 * Runs a statement of a transaction whose rows are read after the commit: for megabytes of arrays, Node.js can take longer than PostgreSQL
 * lets a transaction be idle.
 */
export async function unread(
  session: Pick<Statements, 'run'>,
  statement: Statement,
): Promise<UnreadRows> {
  const { fields, rows } = await session.run<Readonly<Record<string, string | null>>>({
    ...statement,
    types: UNREAD_TYPES,
  });
  const read = () => {
    const columns = fields.map(({ name, dataTypeID }) => {
      const parse = STORED_TYPES.getTypeParser(dataTypeID) as (text: string) => unknown;
      return { name, parse };
    });
    return rows.map((row) =>
      columns.map(({ name, parse }) => {
        const text = row[name] ?? null;
        return text === null ? null : parse(text);
      }),
    );
  };
  return { count: rows.length, read };
}

function tooLarge(what: string, limit: number): ServiceException {
  return new ServiceException(ERRORS.bodyTooLarge, `${what} ${limit} at once`);
}
