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

function tooLarge(what: string, limit: number): ServiceException {
  return new ServiceException(ERRORS.bodyTooLarge, `${what} ${limit} at once`);
}
