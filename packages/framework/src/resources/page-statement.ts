import type { Statement } from '../database/statements.js';
import { preparedAs } from './create-statements.js';
import type { EntityColumn, EntityColumns } from './entity-columns.js';
import type { Key } from './key-type.js';

/** How a filter selects rows. */
export interface Filter<Value> {
  /**
   * The condition of a row, with `parameter` for each value.
   *
   * @param start the least id that the page may have, as text
   */
  where(value: Value, parameter: (value: unknown) => string, start: string): string;
  /** The order in which a page is read by ascending ids, if an index has other columns before the id. */
  readonly order?: string;
  /** Whether it may read many rows that it does not select. Few such lists run at once, and a slow one is refused. */
  readonly isSearch?: boolean;
}

/** Selects the rows whose column equals the value. The table needs an index on the column and the id. */
export function isEqual(column: string): Filter<unknown> {
  return { where: (value, parameter) => `${column} = ${parameter(value)}` };
}

/** A filter, and the value of its parameter in the request. */
export type UsedFilter = readonly [filter: Filter<unknown>, value: unknown];

export interface PageQuery {
  /** The least id that the page may have. */
  readonly start: Key;
  readonly limit: number;
  readonly filters: readonly UsedFilter[];
  /** Most bytes of the rows, as far as they can be long, unless the first row has more. */
  readonly maxBytes: number;
}

/** Pages of this size, which exports read, are prepared. */
const PREPARED_LIMIT = 1_000;

/** Most pages of a group. */
export const MAX_PAGES = 16;

/** Most bytes of a group of pages. */
const MAX_GROUP_BYTES = 4 * 1024 * 1024;

/** The statements that read pages of an entity: a column of their own, then columns of the entity. */
export class PageStatements {
  /**
   * @param columns must have the key
   * @param name of the columns, as part of the names of prepared statements
   * @throws TypeError
   */
  constructor(
    private readonly table: EntityColumns,
    readonly columns: readonly EntityColumn[],
    private readonly name: string,
  ) {
    if (!columns.includes(table.key)) {
      throw new TypeError(`${name} must have the member "${table.key.property}"`);
    }
  }

  /** The key of a row. */
  idOf(row: readonly unknown[]): Key {
    const { key, keyType } = this.table;
    return keyType.fromDriver(row[1 + this.columns.indexOf(key)]);
  }

  /**
   * A page whose rows begin with whether the row is longer than its share of the bytes: then columns are missing. One row
   * more than the limit tells whether there is another page.
   */
  short(query: PageQuery): Statement {
    const { limit, maxBytes, filters } = query;
    const list = this.table.list(this.columns, Math.floor(maxBytes / (limit + 1)));
    const isPreparable = filters.length === 0 && limit === PREPARED_LIMIT;
    const { text, values } = this.matching(query, list);
    return {
      ...(isPreparable && this.named(`page-${values.length}-${maxBytes}`)),
      text,
      values,
    };
  }

  /**
   * Short pages without a filter, each from an id on. The rows of all pages together are limited like a single page: they
   * are in memory at once. The last column is the number of the page, from 1.
   */
  group(starts: readonly Key[], limit: number): Statement {
    const { table, key } = this.table;
    const share = Math.floor(MAX_GROUP_BYTES / MAX_PAGES / (limit + 1));
    const list = this.table.list(this.columns, share);
    return {
      ...this.named(`pages-of-${limit}`),
      text: `SELECT page.*, n FROM unnest($1::${key.type}[]) WITH ORDINALITY AS t (start, n),
        LATERAL (SELECT ${list} FROM ${table} WHERE ${key.name} >= start ORDER BY ${key.name} LIMIT ${limit + 1}) AS page
        ORDER BY n, ${key.name}`,
      values: [starts.map(String)],
    };
  }

  /**
   * The first rows of a page, up to the number of bytes. Each begins with the number of rows that were found. Takes
   * PostgreSQL twice as long as a short page.
   */
  bounded(query: PageQuery): Statement {
    const { key, bytes } = this.table;
    const names = this.columns.map(({ name }) => name).join(', ');
    const { text, values } = this.matching(query, `${names}, ${bytes} AS row_bytes`);
    const summed = `SELECT *, sum(row_bytes) OVER (ORDER BY ${key.name}) - row_bytes AS bytes_before, count(*) OVER () AS rows_found FROM (${text}) AS page`;
    return {
      text: `SELECT rows_found, ${names} FROM (${summed}) AS page
        WHERE bytes_before < ${query.maxBytes} ORDER BY ${key.name} LIMIT ${query.limit}`,
      values,
    };
  }

  /** The name of a prepared statement: it contains everything that the text depends on, because each name must have one text. */
  private named(kind: string): { readonly name?: string } {
    return preparedAs(`${kind}-${this.table.tableName}-${this.name}`);
  }

  private matching({ start, limit, filters }: PageQuery, list: string) {
    const { table, key, keyType } = this.table;
    const values: unknown[] = [];
    const parameter = (value: unknown): string => `$${values.push(value)}`;
    const all = filters.map(([filter, value]) => filter.where(value, parameter, String(start)));
    const [order] = filters.flatMap(([filter]) => filter.order ?? []);
    // An order of its own comes with a condition on the beginning.
    if (order === undefined && start !== keyType.least) {
      all.push(`${key.name} >= ${parameter(String(start))}`);
    }
    const where = all.length === 0 ? '' : `WHERE ${all.join(' AND ')}`;
    return {
      text: `SELECT ${list} FROM ${table} ${where} ORDER BY ${order ?? key.name} LIMIT ${limit + 1}`,
      values,
    };
  }
}
