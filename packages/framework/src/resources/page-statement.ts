import { prepared } from '../database/statements.js';
import type { Statement } from '../database/statements.js';
import type { EntityColumn, EntityColumns } from './entity-columns.js';
import type { Key } from './key-type.js';

/**
 * Writes a value into a condition.
 *
 * @param column whose type the value has, as it is written in the condition; by default the value is text
 */
export type Parameter = (value: unknown, column?: string) => string;

/** How a filter selects rows. */
export interface Filter<Value> {
  /**
   * The condition of a row, with `parameter` for each value.
   *
   * @param start the least id that the page may have, as text
   */
  where(value: Value, parameter: Parameter, start: string): string;
  /** The order in which a page is read by ascending ids, if an index has other columns before the id. */
  readonly order?: string;
  /** Whether it may read many rows that it does not select. Few such lists run at once, and a slow one is refused. */
  readonly isSearch?: boolean;
}

/** Selects the rows whose column equals the value. The table needs an index on the column and the id. */
export function isEqual(column: string): Filter<unknown> {
  return { where: (value, parameter) => `${column} = ${parameter(value, column)}` };
}

/** A filter, and the value of its parameter in the request. */
export type UsedFilter = readonly [filter: Filter<unknown>, value: unknown];

export interface PageQuery {
  /** The least id that the page may have. */
  readonly start: Key;
  readonly limit: number;
  /** If there are any, only rows with one of these ids. */
  readonly ids?: readonly Key[] | undefined;
  readonly filters: readonly UsedFilter[];
  /** Most bytes of the rows, as far as they can be long, unless the first row has more. */
  readonly maxBytes: number;
}

/** A page as one of a group that share a statement. */
export interface GroupedPage extends PageQuery {
  /** The conditions and the order, with `_wanted.p1`, `_wanted.p2` and so on for the values: the statement of the group. */
  readonly clauses: string;
  readonly values: readonly unknown[];
  /** The types of the values in SQL. */
  readonly types: readonly string[];
}

/** The statements that read pages of an entity: a column of their own, then columns of the entity. */
export class PageStatements {
  /**
   * @param columns must have the key
   * @param name of the columns, for the message of the error
   * @throws TypeError
   */
  constructor(
    private readonly table: EntityColumns,
    readonly columns: readonly EntityColumn[],
    name: string,
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
    const list = this.table.list(this.columns, Math.floor(query.maxBytes / (query.limit + 1)));
    return this.matching(query, list);
  }

  grouped(query: PageQuery): GroupedPage {
    const { key, all } = this.table;
    const values: unknown[] = [];
    const types: string[] = [];
    const parameter: Parameter = (value, name) => {
      const column = all.find((each) => each.databaseName === name || each.name === name);
      if (name !== undefined && column === undefined) {
        throw new TypeError(`${this.table.table} has no column ${name}`);
      }
      types.push(column?.type ?? 'text');
      return `_wanted.p${values.push(value)}`;
    };
    const { conditions, order } = this.clauses(query, parameter);
    return {
      ...query,
      clauses: `WHERE ${conditions.join(' AND ')} ORDER BY ${order ?? key.name}`,
      values,
      types,
    };
  }

  /**
   * The statement of short pages of any size with these {@link GroupedPage.clauses}; its values are {@link valuesOf} the pages. A
   * row begins with the number of its page, from 1; the number is negative if the row is longer than its share of the bytes:
   * then columns are missing.
   */
  group({ clauses, types }: GroupedPage): Pick<Statement, 'text'> & { readonly name: string } {
    const { table, key, bytes } = this.table;
    const names = types.map((_, at) => `p${at + 1}`);
    const arrays = types.map((type, at) => `$${at + 3}::${type}[]`);
    const found = this.columns.map(({ name }) => name);
    // The length of a row is computed once, in a subquery that PostgreSQL does not merge with the rest, because of its LIMIT.
    const list = this.columns.map((column) =>
      column.bytes === undefined
        ? `page.${column.name}`
        : `CASE WHEN NOT _is_long THEN page.${column.name} END`,
    );
    return prepared(`SELECT CASE WHEN _is_long THEN -_number ELSE _number END, ${list.join(', ')}
      FROM unnest(${['$2::int[]', ...arrays].join(', ')}) WITH ORDINALITY AS _wanted (${['_size', ...names, '_number'].join(', ')}),
      LATERAL (SELECT ${found.join(', ')}, ${bytes} > $1::int AS _is_long FROM ${table} ${clauses} LIMIT _size) AS page
      ORDER BY _number, page.${key.name}`);
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

  private matching(query: PageQuery, list: string) {
    const { table, key } = this.table;
    const values: unknown[] = [];
    const { conditions, order } = this.clauses(query, (value) => `$${values.push(value)}`);
    return {
      text: `SELECT ${list} FROM ${table} WHERE ${conditions.join(' AND ')} ORDER BY ${order ?? key.name} LIMIT ${query.limit + 1}`,
      values,
    };
  }

  private clauses({ start, ids, filters }: PageQuery, parameter: Parameter) {
    const { key } = this.table;
    const conditions = filters.map(([filter, value]) =>
      filter.where(value, parameter, String(start)),
    );
    if (ids !== undefined) {
      conditions.push(`${key.name} = ANY (${parameter(ids.map(String))}::${key.type}[])`);
    }
    const [order] = filters.flatMap(([filter]) => filter.order ?? []);
    // An order of its own comes with a condition on the beginning.
    if (order === undefined) {
      conditions.push(`${key.name} >= ${parameter(String(start), key.databaseName)}`);
    }
    return { conditions, order };
  }
}

/**
 * The values of the statement of a group. The rows of all pages together are limited like the rows of a single page, because
 * they are in memory at once.
 *
 * @param pages with equal clauses, at least one
 */
export function valuesOf(pages: readonly GroupedPage[]): unknown[] {
  const [{ types, maxBytes }] = pages as readonly [GroupedPage];
  const rows = pages.reduce((sum, { limit }) => sum + limit + 1, 0);
  return [
    Math.floor(maxBytes / rows),
    pages.map(({ limit }) => limit + 1),
    ...types.map((_, at) => pages.map(({ values }) => values[at])),
  ];
}
