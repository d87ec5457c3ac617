import type { EntityColumn } from '../properties/entity-column.js';
import type { BindParameter, FixedColumn, PageQuery, UsedFilter } from './page-query.js';

/** The column that has one value in all rows that a filter selects. */
export function fixedBy([filter, value]: UsedFilter): FixedColumn | undefined {
  return filter.uses?.(value).fixed;
}

/** Whether the conditions of a prefix are those of a filter, too. */
export function isOnPrefix(filter: UsedFilter, prefix: readonly FixedColumn[]): boolean {
  const fixed = fixedBy(filter);
  return prefix.some(({ column }) => column === fixed?.column);
}

/** As ranges of the index, not as equalities: these would let the planner take another index. */
export function prefixConditions(
  { start, end }: PageQuery,
  prefix: readonly FixedColumn[],
  key: EntityColumn,
  parameter: BindParameter,
): readonly string[] {
  const [from, to] = [start, end].map((id) => parameter(String(id), key.databaseName));
  const isNull = prefix.find(({ value }) => value === null);
  if (isNull !== undefined) {
    return [`${isNull.column.name} IS NULL`, `${key.name} BETWEEN ${from} AND ${to}`];
  }
  const row = [...prefix.map(({ column }) => column.name), key.name].join(', ');
  const values = prefix
    .map(({ column, value }) => parameter(value, column.databaseName))
    .join(', ');
  return [`(${row}) >= (${values}, ${from})`, `(${row}) <= (${values}, ${to})`];
}

/**
 * Conditions on the first columns of an order in which all rows have one value. Of a text, the index of the order has only the start, which a
 * filter does not compare.
 */
export function fixedStarts(
  { sort, filters }: PageQuery,
  parameter: BindParameter,
): readonly string[] {
  const conditions: string[] = [];
  for (const { column, expression, characters, cast } of sort.by) {
    const fixed = filters.map(fixedBy).find((each) => each?.column === column);
    if (fixed === undefined || fixed.value === null) break;
    if (characters !== null) conditions.push(`${expression} = ${cast(parameter(fixed.value))}`);
  }
  return conditions;
}
