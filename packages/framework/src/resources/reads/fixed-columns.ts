import type { EntityColumn } from '../properties/entity-column.js';
import type { BindParameter, FixedColumn, PageQuery, UsedFilter } from './page-query.js';

/** The column and its value that all rows have which a filter selects. */
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
  const [first] = prefix;
  // PostgreSQL does not conclude it from the comparison of rows.
  const isPresent = first?.isPartial === true ? [`${first.column.name} IS NOT NULL`] : [];
  return [...isPresent, `(${row}) >= (${values}, ${from})`, `(${row}) <= (${values}, ${to})`];
}

/** Of texts, the index of an order has only the starts, which no filter compares. */
export function startConditions(
  { sort, starts = [] }: PageQuery,
  parameter: BindParameter,
): readonly string[] {
  return starts.flatMap(({ value }, at) => {
    const { expression, characters, cast } = sort.by[at]!;
    if (characters === null) return [];
    if (value === null) return `${expression} IS NULL`;
    return `${expression} = ${cast(parameter(value))}`;
  });
}
