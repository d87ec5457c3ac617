import { STORED_TYPES } from '../../database/connections/value-types.js';
import { prepared, uncounted } from '../../database/statements.js';
import type { Statement } from '../../database/statements.js';
import type { EntityColumn } from '../properties/entity-column.js';
import type { EntityColumns } from '../properties/entity-columns.js';
import type { Key } from '../properties/key-type.js';
import { isOnPrefix, prefixConditions, startConditions } from './fixed-columns.js';
import { MAX_LIMIT } from './page-parameters.js';
import type { BindParameter, Filter, GroupedPage, PageQuery, UsedFilter } from './page-query.js';
import { DIRECTIONS, sortedColumns } from './sort.js';
import type { OrderKey, Sort, SortKey } from './sort.js';

/** Beyond this number of rows, the count is an estimate. */
export const MAX_COUNTED = 10_000;

/** The statements that read pages of an entity. Rows begin with a column of the statement, then the columns of the entity. */
export class PageStatements {
  /**
   * @param name of the DTO with the columns
   * @throws TypeError if the key is not among the columns
   */
  constructor(
    private readonly table: EntityColumns,
    readonly columns: readonly EntityColumn[],
    name: string,
  ) {
    if (!columns.includes(table.key)) {
      throw new TypeError(`${name} must have the property "${table.key.property}"`);
    }
  }

  idOf(row: readonly unknown[]): Key {
    const { key, keyType } = this.table;
    return keyType.fromDriver(row[1 + this.columns.indexOf(key)]);
  }

  sortedBy(row: readonly unknown[]): string {
    return String(row.at(-1));
  }

  /**
   * A page whose rows begin with whether the row is longer than its share of the bytes, so that columns are missing. One row more
   * than the limit tells whether there is a next page.
   */
  short(query: PageQuery): Statement {
    const list = this.table.list(this.columns, Math.floor(query.maxBytes / (query.limit + 1)));
    return this.matching(query, list);
  }

  grouped(query: PageQuery): GroupedPage {
    const values: unknown[] = [];
    const types: string[] = [];
    const parameter: BindParameter = (value, name) => {
      const column = name === undefined ? undefined : this.table.named(name);
      if (name !== undefined && column === undefined) {
        throw new TypeError(`${this.table.table} has no column ${name}`);
      }
      types.push(column?.type ?? 'text');
      return `rs__wanted.p${values.push(value)}`;
    };
    const { conditions, order } = this.clauses(query, parameter);
    const { sort, limit, maxBytes } = query;
    return {
      sort,
      limit,
      maxBytes,
      clauses: `WHERE ${conditions.join(' AND ')} ORDER BY ${order}`,
      values,
      types,
    };
  }

  /**
   * The statement of short pages of any size with these {@link GroupedPage.clauses}; its values are {@link valuesOf} the pages. A
   * row begins with the number of its page, from 1. A negative number means that the row is longer than its share of the bytes,
   * so that columns are missing.
   */
  group({
    clauses,
    types,
    sort,
  }: GroupedPage): Pick<Statement, 'text'> & { readonly name: string } {
    const { table, key, bytes } = this.table;
    const names = types.map((_, at) => `p${at + 1}`);
    const arrays = ['int', ...types].map((type, at) => uncounted(`$${at + 2}`, type));
    const found = this.columns.map(({ name }) => name);
    // Because of its LIMIT, PostgreSQL does not merge the subquery, and computes the length of a row once. The planner takes a LIMIT
    // that is no constant for a tenth of the table (docs/decisions/pages-in-groups.md): the inner one bounds the estimate.
    const list = this.columns.map((column) =>
      column.bytes === undefined
        ? `rs__page.${column.name}`
        : `CASE WHEN NOT rs__is_long THEN rs__page.${column.name} END`,
    );
    return prepared(`SELECT CASE WHEN rs__is_long THEN -rs__number ELSE rs__number END, ${list.join(', ')}
      FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS rs__wanted (${['rs__size', ...names, 'rs__number'].join(', ')}),
      LATERAL (SELECT * FROM (SELECT ${found.join(', ')}, ${bytes} > $1::int AS rs__is_long FROM ${table} ${clauses}
        LIMIT ${MAX_LIMIT + 1}) AS rs__found LIMIT rs__size) AS rs__page
      ORDER BY rs__number, rs__page.${key.name}${directionOf(sort)}`);
  }

  /**
   * The first rows of a page, up to the limit of bytes. Each begins with the number of found rows. PostgreSQL takes twice as
   * long as for a short page.
   */
  bounded(query: PageQuery): Statement {
    const columns = this.columns.map(({ name }) => name).join(', ');
    const { text, values } = this.matching(
      query,
      `${columns}, ${this.table.bytes} AS rs__row_bytes`,
    );
    const order = this.orderOfRows(query.sort);
    const names = query.sort.by.length === 0 ? columns : `${columns}, rs__json`;
    const summed = `SELECT *, sum(rs__row_bytes) OVER (ORDER BY ${order}) - rs__row_bytes AS rs__bytes_before, count(*) OVER () AS rs__rows_found FROM (${text}) AS rs__page`;
    return {
      text: `SELECT rs__rows_found, ${names} FROM (${summed}) AS rs__page
        WHERE rs__bytes_before < ${query.maxBytes} ORDER BY ${order} LIMIT ${query.limit}`,
      values,
      types: STORED_TYPES,
    };
  }

  /** Compares the value that all rows have in the sorted column with another: returns a row with the sign, or none without rows. */
  compare(query: PageQuery, { expression, cast }: SortKey, other: string): Statement {
    const values: unknown[] = [];
    const parameter: BindParameter = (value) => `$${values.push(value)}`;
    const { conditions, order } = this.clauses(query, parameter);
    const value = cast(parameter(other));
    return {
      text: `SELECT CASE WHEN ${expression} = ${value} THEN 0 WHEN ${expression} > ${value} THEN 1 ELSE -1 END
        FROM ${this.table.table} WHERE ${conditions.join(' AND ')} ORDER BY ${order} LIMIT 1`,
      values,
    };
  }

  /** Counts the matching rows of all pages, up to one more than {@link MAX_COUNTED}. */
  count(query: PageQuery): Statement {
    const { text, values } = this.all(query);
    return {
      text: `SELECT count(*) FROM (SELECT FROM ${text} LIMIT ${MAX_COUNTED + 1}) AS rs__counted`,
      values,
    };
  }

  estimate(query: PageQuery): Statement {
    const filters = query.filters.map(([filter, value]): UsedFilter => {
      const where: Filter<unknown>['where'] = (_, parameter, start, end) =>
        filter.estimate?.(value, parameter) ?? filter.where(value, parameter, start, end);
      return [{ where }, value];
    });
    const { text, values } = this.all({ ...query, filters });
    return { text: `EXPLAIN (FORMAT JSON) SELECT FROM ${text}`, values };
  }

  private all(query: PageQuery) {
    const { least: start, greatest: end } = this.table.keyType;
    const values: unknown[] = [];
    const parameter: BindParameter = (value) => `$${values.push(value)}`;
    const conditions = this.conditions({ ...query, start, end }, parameter);
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
    return { text: `${this.table.table}${where}`, values };
  }

  private matching(query: PageQuery, list: string) {
    const values: unknown[] = [];
    const parameter: BindParameter = (value) => `$${values.push(value)}`;
    const { by } = query.sort;
    const isById = by.length === 0;
    const parts = isById ? [this.clauses(query, parameter)] : this.partsBy(query, parameter);
    const own = isById ? '' : `, ${sortedColumns(by)}`;
    const atMost = `LIMIT ${query.limit + 1}`;
    const [text = '', ...others] = parts.map(
      ({ conditions, order }) =>
        `SELECT ${list}${own} FROM ${this.table.table} WHERE ${conditions.join(' AND ') || 'true'} ORDER BY ${order} ${atMost}`,
    );
    if (others.length === 0) return { text, values, types: STORED_TYPES };
    const all = [text, ...others].map((part) => `(${part})`).join(' UNION ALL ');
    return {
      text: `SELECT * FROM (${all}) AS rs__page ORDER BY ${this.orderOfRows(query.sort)} ${atMost}`,
      values,
      types: STORED_TYPES,
    };
  }

  private orderOfRows(sort: Sort): string {
    const values = sort.by.map(
      ({ isDescending }, at) => `rs__value${at}${isDescending ? ' DESC' : ''} NULLS LAST`,
    );
    return [...values, `${this.table.key.name}${directionOf(sort)}`].join(', ');
  }

  private clauses(query: PageQuery, parameter: BindParameter) {
    const { start, end, sort, filters } = query;
    const { key } = this.table;
    const direction = directionOf(sort);
    if (query.prefix !== undefined) {
      // The name alone would mean the expression of the SELECT list, which leaves out long values.
      const keys = [...query.prefix.map(({ column }) => column), key];
      const others = filters.filter((filter) => !isOnPrefix(filter, query.prefix!));
      return {
        conditions: [
          ...this.conditions({ ...query, filters: others }, parameter),
          ...prefixConditions(query, query.prefix, key, parameter),
        ],
        order: keys.map(({ name }) => `${this.table.table}.${name}${direction}`).join(', '),
      };
    }
    const conditions = this.conditions(query, parameter);
    const [prefix] = filters.flatMap(([filter]) => filter.indexPrefix ?? []);
    // Its filter has conditions on the start and the end.
    if (prefix !== undefined) {
      return { conditions, order: `${prefix}${direction}, ${key.name}${direction}` };
    }
    const [isWithin, bound] = sort.isDescending ? ['<=', end] : ['>=', start];
    conditions.push(`${key.name} ${isWithin} ${parameter(String(bound), key.databaseName)}`);
    return { conditions, order: `${key.name}${direction}` };
  }

  /** The ranges of the index that have the rows: for one condition for all of them, PostgreSQL would read rows before them. */
  private partsBy(query: PageQuery, parameter: BindParameter) {
    const { sort } = query;
    const { by, after, isDescending } = sort;
    const key = this.table.key.name;
    // In ORDER BY, the name of a column would mean the expression of the SELECT list, which leaves out long values.
    const values = by.map(({ option }, at) => `rs__value${at}${DIRECTIONS[option]}`);
    const order = [...values, `${key}${directionOf(sort)}`].join(', ');
    const starts = startConditions(query, parameter);
    const part = (...own: readonly string[]) => ({
      conditions: [...own, ...starts, ...this.conditions(query, parameter)],
      order,
    });
    const [first] = by as readonly [OrderKey];
    if (after === undefined) {
      // The index of an order of several columns has the rows without a value last.
      if (by.length > 1) return [part()];
      const isNull = first.column.isNullable ? [part(`${first.expression} IS NULL`)] : [];
      return [part(`${first.expression} IS NOT NULL`), ...isNull];
    }
    const valueOf = (at: number) => by[at]!.cast(parameter(after.values[at]));
    const equal = (count: number) =>
      by
        .slice(0, count)
        .map(({ expression }, at) =>
          after.values[at] === null ? `${expression} IS NULL` : `${expression} = ${valueOf(at)}`,
        );
    // Columns with the direction of the ids are compared together with them.
    let start = by.length;
    while (start > 0 && isTogether(by[start - 1]!, sort, start - 1)) start -= 1;
    const together = by.slice(start);
    const left = [...together.map(({ expression }) => expression), key];
    const right = [...together.map((_, at) => valueOf(start + at)), parameter(String(after.id))];
    const beyond = `(${left.join(', ')}) ${isDescending ? '<' : '>'} (${right.join(', ')})`;
    const parts = [part(...equal(start), beyond)];
    for (const [at, { expression, column, ...each }] of by.entries()) {
      if (after.values[at] === null) continue;
      if (at < start) {
        const isBeyond = `${expression} ${each.isDescending ? '<' : '>'} ${valueOf(at)}`;
        parts.push(part(...equal(at), isBeyond));
      }
      if (column.isNullable) parts.push(part(...equal(at), `${expression} IS NULL`));
    }
    return parts;
  }

  private conditions({ start, end, ids, filters }: PageQuery, parameter: BindParameter): string[] {
    const { key, notRemoved } = this.table;
    const conditions = filters.map(([filter, value]) =>
      filter.where(value, parameter, String(start), String(end)),
    );
    conditions.push(...notRemoved);
    if (ids !== undefined) {
      conditions.push(`${key.name} = ANY (${parameter(ids.map(String))}::${key.type}[])`);
    }
    return conditions;
  }
}

/** Whether a column of an order has a value in the row before the page, and the direction of the ids. */
function isTogether(key: OrderKey, { after, isDescending }: Sort, at: number): boolean {
  return after?.values[at] !== null && key.isDescending === isDescending;
}

function directionOf({ isDescending }: Sort): string {
  return isDescending ? ' DESC' : '';
}

/**
 * The values of the statement of a group. All its rows are in memory at once, so they share the limit of a single page.
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
