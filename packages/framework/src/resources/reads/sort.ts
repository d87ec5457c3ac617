import type { Type } from '@nestjs/common';
import { isStorableText } from '../../database/storable-text.js';
import type { PageParameters } from '../../http/answers/page.js';
import type { EntityColumn } from '../properties/entity-column.js';
import type { EntityColumns } from '../properties/entity-columns.js';
import type { Key } from '../properties/key-type.js';

const SORTABLE = Symbol('sortable');

/** By so many characters, texts are sorted: neither the entry of an index nor the `Link` can be as long as a text. */
const SORTED_CHARACTERS = 100;

/**
 * Declares that lists can be sorted by a column. The table needs an index on it and the id, in the form that the service says when it
 * refuses to start without.
 */
export function Sortable(): PropertyDecorator {
  return ({ constructor }, name) => {
    const names = [...sortableOf(constructor as Type), String(name)];
    Reflect.defineMetadata(SORTABLE, names, constructor);
  };
}

/** The properties by which lists of an entity can be sorted, besides the id. */
export function sortableOf(entity: Type): readonly string[] {
  return (Reflect.getMetadata(SORTABLE, entity) as readonly string[] | undefined) ?? [];
}

/** What rows are sorted by before their ids. */
export interface SortKey {
  readonly column: EntityColumn;
  /** The expression of SQL that the index has. */
  readonly expression: string;
  /** How many characters at the beginning of a text count; `null` for other types. */
  readonly characters: number | null;
  /** The value of the expression for a parameter of a statement, which is text. */
  readonly cast: (parameter: string) => string;
}

/**
 * Texts have the order of their code points, whatever the collation of the database: it is the same in every database, and an update
 * of the operating system does not change it.
 *
 * @throws TypeError if the values can be long: neither the entry of an index nor the `Link` can
 */
export function sortKeyOf(columns: EntityColumns, property: string): SortKey {
  const column = columns.column(property);
  const { name, type, bytes } = column;
  if (type === 'text') {
    const start = (text: string) => `left(${text}, ${SORTED_CHARACTERS})`;
    return {
      column,
      expression: `${start(name)} COLLATE "C"`,
      characters: SORTED_CHARACTERS,
      cast: (parameter) => start(`${parameter}::text`),
    };
  }
  // All types of short values have an order.
  if (bytes !== undefined) {
    const which = type === 'numeric' ? 'numeric without a precision' : type;
    throw new TypeError(
      `${columns.table}.${property}: lists cannot be sorted by the type ${which}`,
    );
  }
  return {
    column,
    expression: name,
    characters: null,
    cast: (parameter) => `${parameter}::${type}`,
  };
}

/** The order of a list. */
export interface Sort {
  readonly isDescending: boolean;
  /** `undefined`: by id alone. */
  readonly by?: SortKey | undefined;
  /** The list continues after this row, which need not exist. */
  readonly after?: { readonly id: Key; readonly value: string | null } | undefined;
}

export const BY_ID: Sort = { isDescending: false };

/** Reads the parameter of a request, such as `-name`. */
export function parseSort(sort = 'id') {
  const isDescending = sort.startsWith('-');
  return { property: isDescending ? sort.slice(1) : sort, isDescending };
}

/** The text in SQL of a value in JSON; `undefined` for what is no single value. */
export function sqlTextOf(json: string): string | null | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (value === null) return null;
  if (typeof value === 'object') return undefined;
  // All digits of a number.
  if (typeof value !== 'string') return json.trim();
  return isStorableText(value) ? value : undefined;
}

export function sortOf(columns: EntityColumns, { sort, after, afterValue }: PageParameters): Sort {
  const { property, isDescending } = parseSort(sort);
  if (property === columns.key.property) return { isDescending };
  const value = afterValue === undefined ? undefined : sqlTextOf(afterValue);
  const last = after === undefined || value === undefined ? undefined : { id: after, value };
  return { isDescending, by: sortKeyOf(columns, property), after: last };
}

/** A page in the order of ids. */
interface PageById<Query> {
  readonly parameters: Query;
  /** Whether all rows come before it. */
  readonly isEmpty: boolean;
}

/**
 * The same page in the order of ids, if all rows have the same value in the column of the order: a filter has an index in that order. So
 * the next pages are in the order of ids, too, and need no `afterValue`. A request that has one, which no link has, can begin anywhere
 * before or after that value: in the index of the order, PostgreSQL would read the whole table from there.
 *
 * @param equal the columns in which all rows have the same value
 * @param compare that value with another one: its sign; `undefined` if there are no rows
 */
export async function withoutNeedlessSort<Query extends PageParameters>(
  columns: EntityColumns,
  query: Query,
  equal: readonly string[],
  compare: (by: SortKey, value: string) => Promise<number | undefined>,
): Promise<PageById<Query>> {
  const { property, isDescending } = parseSort(query.sort);
  const isNeedless = equal.some((name) => columns.named(name)?.property === property);
  if (!isNeedless) return { parameters: query, isEmpty: false };
  const parameters = { ...query, sort: isDescending ? '-id' : 'id', afterValue: undefined };
  const { by, after } = sortOf(columns, query);
  if (by === undefined || after === undefined) return { parameters, isEmpty: false };
  // Rows without a value come last.
  const sign = after.value === null ? undefined : await compare(by, after.value);
  const place = sign === undefined ? -1 : isDescending ? -sign : sign;
  // All rows come after the beginning.
  if (place > 0) return { parameters: { ...parameters, after: undefined }, isEmpty: false };
  return { parameters, isEmpty: place < 0 };
}
