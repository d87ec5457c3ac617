import type { Type } from '@nestjs/common';
import { stateOf } from '../../database/database-error.js';
import { isStorableText } from '../../database/storable-text.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { PageParameters } from '../../http/responses/page.js';
import type { EntityColumn } from '../properties/entity-column.js';
import type { EntityColumns } from '../properties/entity-columns.js';
import type { Key } from '../properties/key-type.js';

const SORTABLE = Symbol('sortable');
const ORDERS = Symbol('orders');

/** Texts are sorted by a prefix, because neither the entry of an index nor the `Link` can be as long as a text. */
export const SORTED_CHARACTERS = 100;

/**
 * Declares that lists can be sorted by a column. The table needs an index on it and the id; without, the start fails with an error that
 * has the statement.
 *
 * @example
 * @Sortable()
 * @Column('text')
 * @TextField({ description: 'The name of the tool.' })
 * readonly name!: string;
 */
export function Sortable(): PropertyDecorator {
  return ({ constructor }, name) => {
    const names = [...sortableOf(constructor as Type), String(name)];
    Reflect.defineMetadata(SORTABLE, names, constructor);
  };
}

/**
 * Declares that lists can be sorted by several columns: `sort=kind,-price`. `-` means descending. The table needs an index in this order,
 * which `migration:generate` creates.
 *
 * @example
 * @SortableBy('kind', '-price')
 * @Entity('tools')
 * class Tool {}
 */
export function SortableBy(...columns: readonly string[]): ClassDecorator {
  return (entity) => {
    Reflect.defineMetadata(ORDERS, [...ordersOf(entity as unknown as Type), columns], entity);
  };
}

export function ordersOf(entity: Type): readonly (readonly string[])[] {
  return (Reflect.getMetadata(ORDERS, entity) as readonly (readonly string[])[] | undefined) ?? [];
}

/** The properties, without the id, by which lists of an entity can be sorted. */
export function sortableOf(entity: Type): readonly string[] {
  return (Reflect.getMetadata(SORTABLE, entity) as readonly string[] | undefined) ?? [];
}

/** Rows are sorted by it before their ids. */
export interface SortKey {
  readonly column: EntityColumn;
  /** The SQL expression of the index. */
  readonly expression: string;
  /** The length of the prefix of a text; `null` for other types. */
  readonly characters: number | null;
  /** Converts a parameter, which is text, to a value of the expression. */
  readonly cast: (parameter: string) => string;
}

/** The start of a text in the order of its code points. */
export function sortExpression({ name }: EntityColumn, characters: number): string {
  return `left(${name}, ${characters}) COLLATE "C"`;
}

/**
 * The least text with a prefix, and a text beyond all that have it, in the order of code points.
 *
 * @param prefix of at most {@link SORTED_CHARACTERS} characters
 */
export function rangeOfPrefix(prefix: string): readonly [least: string, beyond: string] {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (points.at(-1) === LAST_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) {
    return [prefix, String.fromCodePoint(LAST_POINT).repeat(SORTED_CHARACTERS + 1)];
  }
  // No text has a surrogate.
  const next = last === 0xd7_ff ? 0xe0_00 : last + 1;
  return [prefix, String.fromCodePoint(...points, next)];
}

const LAST_POINT = 0x10_ff_ff;

/** Texts have the order of their code points, in every database and after each update of the operating system. */
export function sortKeyOf(columns: EntityColumns, property: string): SortKey {
  const column = columns.column(property);
  const { name, type } = column;
  if (type === 'text') {
    return {
      column,
      expression: sortExpression(column, SORTED_CHARACTERS),
      characters: SORTED_CHARACTERS,
      cast: (parameter) => `left(${parameter}::text, ${SORTED_CHARACTERS})`,
    };
  }
  return {
    column,
    expression: name,
    characters: null,
    cast: (parameter) => `${parameter}::${type}`,
  };
}

/** As PostgreSQL stores it with the key of an index: 1 for descending, 2 for nulls first. */
type KeyOption = 0 | 1 | 3;

export const DIRECTIONS: Readonly<Record<KeyOption, string>> = {
  0: '',
  1: ' DESC NULLS LAST',
  3: ' DESC',
};

/** A column of an order. */
export interface OrderKey extends SortKey {
  readonly isDescending: boolean;
  /** Of the index that has the order. */
  readonly option: KeyOption;
}

export interface Sort {
  /** The ids have the direction of the last column. */
  readonly isDescending: boolean;
  /** Empty: by id alone. */
  readonly by: readonly OrderKey[];
  /** The list continues after this row, which need not exist. */
  readonly after?: { readonly id: Key; readonly values: readonly (string | null)[] } | undefined;
}

/** The values of the order, and as the last column `afterValue` of the next page. */
export function sortedColumns(by: readonly OrderKey[]): string {
  const values = by.map(({ expression }, at) => `${expression} AS rs__value${at}`);
  const texts = by.map(({ expression }) => `(${expression})::text`);
  const json =
    by.length === 1
      ? `coalesce(to_json(${by[0]!.expression})::text, 'null')`
      : `to_json(ARRAY[${texts.join(', ')}])::text`;
  return [...values, `${json} AS rs__json`].join(', ');
}

export const BY_ID: Sort = { isDescending: false, by: [] };

export function parseSort(sort = 'id') {
  const isDescending = sort.startsWith('-');
  return { property: isDescending ? sort.slice(1) : sort, isDescending };
}

/** Converts a value in JSON to its text in SQL; `undefined` for arrays, objects and text that is not JSON. */
export function sqlTextOf(json: string): string | null | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (value === null) return null;
  if (typeof value === 'object') return undefined;
  // Keeps all digits of a number.
  if (typeof value !== 'string') return json.trim();
  return isStorableText(value) ? value : undefined;
}

/**
 * The values of `afterValue` in SQL: of one column in JSON, of several an array of their texts.
 *
 * @returns `undefined` for any other text
 */
export function sqlTextsOf(json: string, columns: number): Values | undefined {
  if (columns > 1) return textsOf(json, columns);
  const value = sqlTextOf(json);
  return value === undefined ? undefined : [value];
}

type Values = readonly (string | null)[];

function textsOf(json: string, count: number): Values | undefined {
  let values: unknown;
  try {
    values = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (!Array.isArray(values) || values.length !== count) return undefined;
  const areTexts = values.every(
    (value) => value === null || (typeof value === 'string' && isStorableText(value)),
  );
  return areTexts ? (values as Values) : undefined;
}

function orderKeyOf(columns: EntityColumns, text: string, isAlone: boolean): OrderKey {
  const { property, isDescending } = parseSort(text);
  const key = sortKeyOf(columns, property);
  // With one column, the rows without a value are read apart: its index has both directions.
  const isLast = !isAlone && key.column.isNullable;
  return { ...key, isDescending, option: !isDescending ? 0 : isLast ? 1 : 3 };
}

export function sortOf(
  columns: EntityColumns,
  { sort = 'id', after, afterValue }: Partial<PageParameters>,
): Sort {
  const { property, isDescending } = parseSort(sort);
  if (property === columns.key.property) return { isDescending, by: BY_ID.by };
  const by = sort.split(',').map((each, _, { length }) => orderKeyOf(columns, each, length === 1));
  const values = afterValue === undefined ? undefined : sqlTextsOf(afterValue, by.length);
  const last = after === undefined || values === undefined ? undefined : { id: after, values };
  return { isDescending: by.at(-1)!.isDescending, by, after: last };
}

/**
 * Sorts by id instead, if all rows have one value in the sorted column: the filter has an index in that order. The next pages are sorted
 * by id, too, and need no `afterValue`. A request that has one, unlike any link, can begin anywhere before or after the value: in the
 * index of the sorted column, PostgreSQL would read the whole table from there.
 *
 * @param equal the columns in which all rows have one value
 * @param compare returns the sign of the comparison of this value with another; `undefined` if there are no rows
 * @returns `isEmpty`: all rows come before the page
 */
export async function withoutNeedlessSort<Query extends PageParameters>(
  columns: EntityColumns,
  query: Query,
  equal: readonly string[],
  compare: (by: SortKey, value: string) => Promise<number | undefined>,
): Promise<{ readonly parameters: Query; readonly isEmpty: boolean }> {
  const { property, isDescending } = parseSort(query.sort);
  const isNeedless = equal.some((name) => columns.named(name)?.property === property);
  if (!isNeedless) return { parameters: query, isEmpty: false };
  const parameters = { ...query, sort: isDescending ? '-id' : 'id', afterValue: undefined };
  const {
    by: [key],
    after,
  } = sortOf(columns, query);
  const value = after?.values[0];
  if (key === undefined || value === undefined) return { parameters, isEmpty: false };
  // Rows without a value come last.
  const sign = value === null ? undefined : await compare(key, value);
  const place = sign === undefined ? -1 : isDescending ? -sign : sign;
  // All rows come after the start.
  if (place > 0) return { parameters: { ...parameters, after: undefined }, isEmpty: false };
  return { parameters, isEmpty: place < 0 };
}

/** Reads with `afterValue`, which need not be a value of the column. */
export async function valueRead<Result>(
  by: readonly SortKey[],
  read: () => Promise<Result>,
): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (!stateOf(error)?.startsWith('22')) throw error;
    const properties = by.map(({ column }) => column.property).join(' and ');
    const needed = by.length === 1 ? 'be a value' : 'have values';
    const message = `afterValue must ${needed} of ${properties}`;
    throw new ServiceException(ERRORS.parameterNotValid, message);
  }
}
