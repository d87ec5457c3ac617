import type { Statements } from '../../database/statements.js';
import type { EntityColumn } from '../properties/entity-column.js';
import type { EntityColumns } from '../properties/entity-columns.js';
import { fixedBy } from './fixed-columns.js';
import type { FixedColumn, PageQuery, UsedFilter } from './page-query.js';
import { SORTED_CHARACTERS } from './sort.js';
import { hasListedRows } from './sort-indexes.js';

type Listed = Pick<PageQuery, 'filters' | 'sort'>;

interface Table {
  readonly columns: () => EntityColumns;
  readonly paths: () => IndexPaths;
}

/** Whether a page may read many rows that do not match: no index has the matching rows in the order of the list. */
export function isSearch(query: PageQuery, { columns, paths }: Table): boolean {
  const { filters, sort } = query;
  if (filters.length === 0) return false;
  if (hasSearch(query)) return true;
  // By id, a filter on one value has an index, or its list is slow (docs/framework/reading.md).
  const isOrdered = sort.by.length === 0 && filters.every(isOnOneValue);
  return !isOrdered && !paths().serves(query, columns());
}

/** Whether a filter says that it searches. */
export function hasSearch({ filters }: PageQuery): boolean {
  return filters.some(([filter]) => filter.isSearch);
}

/** Also true for a filter that is no {@link ColumnFilter}, unless it says that it searches. */
function isOnOneValue([filter, value]: UsedFilter): boolean {
  return filter.uses === undefined || filter.uses(value).fixed !== undefined;
}

/** A key of an index: a column, or the start of its text in the order of code points; `null` for any other expression. */
interface IndexKey {
  readonly column: string | null;
  readonly isStart: boolean;
  /** 1 for descending, 2 for nulls first. */
  readonly option: number;
  /** Whether a comparison of the key finds the rows that the `=` of the column finds, and no others. */
  readonly isExact: boolean;
}

/** What an index must have at a position. */
interface Wanted {
  readonly column: EntityColumn;
  readonly option: number;
}

type KeyRow = readonly [
  index: string,
  column: string | null,
  isStart: boolean,
  options: string,
  isExact: boolean,
  isPartial: boolean,
];

/**
 * The keys of the B-trees of a table that have all rows of lists, or all of these with a value in the first column. `=` of other texts than
 * `text` and `varchar` ignores spaces or case, and so does a collation that is not deterministic, which the start of a text lacks in an index.
 */
const FIND = `SELECT indexrelid::text, attname, indkey[place - 1] = 0, indoption[place - 1]::text,
      coalesce(atttypid IN ('text'::regtype, 'varchar'::regtype) AND (indkey[place - 1] <> 0 OR collisdeterministic) OR typcategory <> 'S', false),
      "isPartial"
    FROM pg_index
    JOIN pg_class AS index ON index.oid = indexrelid
    JOIN pg_am ON pg_am.oid = relam AND amname = 'btree'
    CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM pg_attribute
        WHERE attrelid = indrelid AND attnum = indkey[0] AND NOT attnotnull
          AND pg_get_expr(indpred, indrelid) = format('(%I IS NOT NULL)', attname)) AS "isPartial") AS predicate
    CROSS JOIN LATERAL generate_series(1, indnkeyatts) AS place
    JOIN pg_opclass ON pg_opclass.oid = indclass[place - 1]
    LEFT JOIN pg_attribute ON attrelid = indrelid AND attnum > 0 AND opcdefault AND CASE
      WHEN indkey[place - 1] <> 0 THEN attnum = indkey[place - 1] AND attcollation = indcollation[place - 1]
      ELSE indcollation[place - 1] = 'pg_catalog."C"'::regcollation
        AND pg_get_indexdef(indexrelid, place, false)
          IN (format('"left"(%I, %s)', attname, $2::int), format('"left"((%I)::text, %s)', attname, $2::int))
    END
    LEFT JOIN pg_type ON pg_type.oid = atttypid
    LEFT JOIN pg_collation ON pg_collation.oid = attcollation
  WHERE indrelid = to_regclass($1) AND indisvalid AND (${hasListedRows('$3')} OR "isPartial")
  ORDER BY indexrelid, place`;

/** The orders in which the indexes of a table have its rows. */
export class IndexPaths {
  /** @param partial indexes that lack the rows without a value in their first column */
  private constructor(
    private readonly indexes: readonly (readonly IndexKey[])[],
    private readonly partial: readonly (readonly IndexKey[])[],
  ) {}

  static readonly none = new IndexPaths([], []);

  static async of(
    statements: Statements,
    { table, removedAt }: EntityColumns,
  ): Promise<IndexPaths> {
    const values = [table, SORTED_CHARACTERS, removedAt?.databaseName];
    const rows = await statements.rows<KeyRow>({ text: FIND, values });
    const indexes = new Map<string, IndexKey[]>();
    const partial = new Map<string, IndexKey[]>();
    for (const [index, column, isStart, options, isExact, isPartial] of rows) {
      const found = isPartial ? partial : indexes;
      const keys = found.get(index) ?? [];
      found.set(index, keys);
      keys.push({ column, isStart, option: Number(options), isExact });
    }
    return new IndexPaths([...indexes.values()], [...partial.values()]);
  }

  /**
   * Whether an index has the rows of a list next to each other, in its order: first the columns in which all of them have one value, then the
   * columns of the order, whose values can be a range, and the id.
   */
  serves({ filters, sort }: Listed, columns: EntityColumns): boolean {
    const fixed = new Set<EntityColumn>();
    const order = [...sort.by, { column: columns.key, option: sort.isDescending ? 3 : 0 }];
    for (const [filter, value] of filters) {
      const same = filter.equals === undefined ? undefined : columns.named(filter.equals);
      const { fixed: { column: one } = { column: same }, range } = filter.uses?.(value) ?? {};
      if (one !== undefined) fixed.add(one);
      else if (range === undefined || range !== order[0]!.column) return false;
    }
    const others = new Set(fixed);
    for (const { column } of this.startsOf({ filters, sort })) others.delete(column);
    return this.indexes.some(
      (keys) => hasPath(keys, [...fixed], order) || hasPath(keys, [...others], order),
    );
  }

  /** The first columns of an order in which all rows have one value, which its index can be searched for. */
  startsOf({ filters, sort: { by } }: Listed): readonly FixedColumn[] {
    const starts: FixedColumn[] = [];
    for (const { column, characters } of by) {
      const fixed = filters.map(fixedBy).find((each) => each?.column === column);
      if (fixed === undefined) break;
      const isSearched = characters === null || fixed.value === null || this.hasExactStart(column);
      if (!isSearched) break;
      starts.push(fixed);
    }
    return starts;
  }

  private hasExactStart({ databaseName }: EntityColumn): boolean {
    return this.indexes.some((keys) =>
      keys.some(({ column, isStart, isExact }) => isStart && isExact && column === databaseName),
    );
  }

  /**
   * The columns in which all rows of a list by id have one value, as an index has them before the id. The planner does not know the values of a
   * shared statement, and would rather read the table in the order of the ids, also for a rare value. It chooses if two indexes have as many
   * columns.
   */
  prefixOf({ filters, sort }: Listed, { key }: EntityColumns): PageQuery['prefix'] {
    if (filters.length === 0 || sort.by.length > 0) return undefined;
    const fixed = new Map<string, FixedColumn>();
    for (const filter of filters) {
      const one = fixedBy(filter);
      if (one === undefined || fixed.has(one.column.databaseName)) return undefined;
      fixed.set(one.column.databaseName, one);
    }
    const partial = this.partial
      .map((keys) => prefixIn(keys, key, fixed))
      .filter(([one]) => one?.value !== null);
    const found = [...this.indexes.map((keys) => prefixIn(keys, key, fixed)), ...partial];
    const most = Math.max(1, ...found.map(({ length }) => length));
    const [first, ...others] = found.filter(({ length }) => length === most);
    const isOnly = others.every((other) => other.every((each) => first!.includes(each)));
    // A comparison of rows has no NULL.
    const hasNull = most > 1 && first?.some(({ value }) => value === null);
    if (first === undefined || !isOnly || hasNull) return undefined;
    const [leading, ...rest] = first;
    return partial.includes(first) ? [{ ...leading!, isPartial: true }, ...rest] : first;
  }
}

/** What an index has before the id, if these are such columns only, and all keys have the direction of the id. */
function prefixIn(
  keys: readonly IndexKey[],
  { databaseName }: EntityColumn,
  fixed: ReadonlyMap<string, FixedColumn>,
): readonly FixedColumn[] {
  const end = keys.findIndex(({ column }) => column === databaseName);
  const found = keys
    .slice(0, Math.max(end, 0))
    .flatMap(({ column, isStart, isExact }) =>
      isStart || !isExact ? [] : (fixed.get(column ?? '') ?? []),
    );
  const isOneWay = [0, 3].some((way) =>
    keys.slice(0, end + 1).every(({ option }) => option === way),
  );
  return found.length === end && isOneWay ? found : [];
}

function hasPath(
  keys: readonly IndexKey[],
  fixed: readonly EntityColumn[],
  order: readonly Wanted[],
): boolean {
  const first = keys.slice(0, fixed.length);
  const isFixed = fixed.every((column) =>
    first.some((key) => !key.isStart && key.column === column.databaseName),
  );
  const rest = keys.slice(fixed.length, fixed.length + order.length);
  return (
    isFixed &&
    rest.length === order.length &&
    order.every(
      ({ column: { databaseName, type } }, at) =>
        rest[at]!.column === databaseName && rest[at]!.isStart === (type === 'text'),
    ) &&
    // Forward, or backward.
    [0, 3].some((turn) => order.every(({ option }, at) => rest[at]!.option === (option ^ turn)))
  );
}
