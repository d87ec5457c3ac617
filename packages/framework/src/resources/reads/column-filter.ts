import type { EntityColumn } from '../properties/entity-column.js';
import type { Filter, BindParameter } from './page-query.js';
import { rangeOfPrefix, SORTED_CHARACTERS, sortExpression } from './sort.js';

/** What the parameter of a filter has: a value of its property, several, the least and the greatest, a text, or `true` or `false`. */
export interface ShapeValues<Value = unknown> {
  readonly value: Value;
  readonly values: readonly Value[];
  readonly range: readonly Value[];
  readonly part: string;
  readonly prefix: string;
  readonly flag: boolean;
}

export type FilterShape = keyof ShapeValues;

/**
 * A filter on a column, which becomes a condition when the column is known. `ListOf(Garden, { kind: isIn('kind') })` declares its
 * parameter.
 */
export interface ColumnFilter<
  Property extends string = string,
  Shape extends FilterShape = FilterShape,
> extends Filter<ShapeValues[Shape]> {
  readonly property: Property;
  readonly shape: Shape;
  /** Begins the description of the parameter in the OpenAPI document: `Only items whose …`. */
  readonly meaning: string;
  /** Whether `property` may also be the name of a column. */
  readonly isByColumn?: boolean;
  /** Why a column cannot have this filter. */
  mistakeOf?(column: EntityColumn): string | undefined;
  conditionOn(column: EntityColumn): Filter<never>;
}

type Values = readonly unknown[];

/** Without the column, there is no condition yet. */
function columnFilter<Property extends string, Shape extends FilterShape>(
  parts: Omit<ColumnFilter<Property, Shape>, 'where'>,
): ColumnFilter<Property, Shape> {
  const where = () => {
    throw new TypeError(`the filter on ${parts.property} has no column yet`);
  };
  return { ...parts, where };
}

/** A search looks at so many characters of a text: LIKE heeds no timeout within a row. */
const SEARCHED_CHARACTERS = 4_000;

const UNORDERED = /^(bool(ean)?|text|bytea|jsonb|xml|money|point|.*\[\])$/;

/**
 * Selects the rows whose column equals the value. The table needs an index on the column and the id.
 *
 * @param property a property of the entity, or the name of its column, quoted or not: `user` is the column, not the function of SQL
 *
 * @example export const LOAN_FILTERS = { toolId: isEqual('toolId') };
 */
export function isEqual<Property extends string>(
  property: Property,
): ColumnFilter<Property, 'value'> {
  return columnFilter({
    property,
    shape: 'value',
    meaning: 'equals the value',
    isByColumn: true,
    conditionOn: (column): Filter<unknown> => ({
      where: (value, parameter) => `${column.name} = ${typed(value, parameter, column)}`,
      equals: column.databaseName,
      uses: (value) => ({ fixed: { column, value: parameterOf(value, column) } }),
    }),
  });
}

/**
 * Selects the rows whose property is one of several values: `kind=a,b`, or `kind=a&kind=b`.
 *
 * @example export const TOOL_FILTERS = { kind: isIn('kind') };
 */
export function isIn<Property extends string>(
  property: Property,
): ColumnFilter<Property, 'values'> {
  return columnFilter({
    property,
    shape: 'values',
    meaning: 'is one of the values',
    conditionOn: (column): Filter<Values> => ({
      where: ([value, ...others], parameter) =>
        others.length === 0
          ? `${column.name} = ${typed(value, parameter, column)}`
          : `${column.name} = ANY (${parameter([value, ...others].map((each) => parameterOf(each, column)))}::${column.type}[])`,
      uses: ([value, ...others]) =>
        others.length === 0 ? { fixed: { column, value: parameterOf(value, column) } } : {},
    }),
  });
}

/**
 * Selects the rows whose number, time, day or UUID is the value or greater.
 *
 * @example export const TOOL_FILTERS = { priceFrom: isAtLeast('price') };
 */
export function isAtLeast<Property extends string>(
  property: Property,
): ColumnFilter<Property, 'value'> {
  return compared(property, 'is at least the value', '>=');
}

/**
 * Selects the rows whose number, time, day or UUID is the value or less.
 *
 * @example export const TOOL_FILTERS = { priceTo: isAtMost('price') };
 */
export function isAtMost<Property extends string>(
  property: Property,
): ColumnFilter<Property, 'value'> {
  return compared(property, 'is at most the value', '<=');
}

/**
 * Selects the rows whose number, time, day or UUID is one of two values, or between them: `price=10,20`.
 *
 * @example export const TOOL_FILTERS = { price: isBetween('price') };
 */
export function isBetween<Property extends string>(
  property: Property,
): ColumnFilter<Property, 'range'> {
  return columnFilter({
    property,
    shape: 'range',
    meaning: 'is between the two values, or one of them',
    mistakeOf: unordered,
    conditionOn: (column): Filter<Values> => ({
      where: ([least, greatest], parameter) =>
        `${column.name} BETWEEN ${typed(least, parameter, column)} AND ${typed(greatest, parameter, column)}`,
      uses: () => ({ range: column }),
    }),
  });
}

/**
 * Selects the rows whose text has the value in its first 4,000 characters, in upper or lower case. The table needs a GIN index
 * (docs/framework/reading.md).
 *
 * @example export const TOOL_FILTERS = { name: contains('name') };
 */
export function contains<Property extends string>(
  property: Property,
): ColumnFilter<Property, 'part'> {
  return columnFilter({
    property,
    shape: 'part',
    meaning: `contains the text in its first ${SEARCHED_CHARACTERS.toLocaleString('en')} characters, in upper or lower case`,
    mistakeOf: noText,
    conditionOn: ({ name }): Filter<string> => ({
      where: (value, parameter) => {
        const pattern = parameter(`%${value.replaceAll(/[\\%_]/g, '\\$&')}%`);
        return `${folded(`left(${name}, ${SEARCHED_CHARACTERS})`)} LIKE ${folded(pattern)}`;
      },
      isSearch: true,
    }),
  });
}

/**
 * Selects the rows whose text begins with the value, in the same case. The index of `@Sortable()` serves lists sorted by the property.
 *
 * @example export const TOOL_FILTERS = { name: startsWith('name') };
 */
export function startsWith<Property extends string>(
  property: Property,
): ColumnFilter<Property, 'prefix'> {
  return columnFilter({
    property,
    shape: 'prefix',
    meaning: 'begins with the text',
    mistakeOf: noText,
    conditionOn: (column): Filter<string> => {
      const start = sortExpression(column, SORTED_CHARACTERS);
      return {
        // Not LIKE, for whose pattern PostgreSQL uses an index only if it plans the statement anew.
        where: (value, parameter) => {
          const [least, beyond] = rangeOfPrefix(value);
          return `${start} >= ${parameter(least)}::text AND ${start} < ${parameter(beyond)}::text`;
        },
        uses: () => ({ range: column }),
      };
    },
  });
}

/**
 * With `true`, selects the rows without a value; with `false`, those with one.
 *
 * @example export const TOOL_FILTERS = { isAvailable: isNull('borrower') };
 */
export function isNull<Property extends string>(
  property: Property,
): ColumnFilter<Property, 'flag'> {
  return columnFilter({
    property,
    shape: 'flag',
    meaning: 'is absent (`true`) or present (`false`)',
    mistakeOf: ({ isNullable }) => (isNullable ? undefined : 'always has a value'),
    conditionOn: (column): Filter<boolean> => ({
      where: (isWanted) => `${column.name} IS ${isWanted ? '' : 'NOT '}NULL`,
      uses: (isWanted) => (isWanted ? { fixed: { column, value: null } } : { range: column }),
    }),
  });
}

function compared<Property extends string>(
  property: Property,
  meaning: string,
  operator: '>=' | '<=',
): ColumnFilter<Property, 'value'> {
  return columnFilter({
    property,
    shape: 'value',
    meaning,
    mistakeOf: unordered,
    conditionOn: (column): Filter<unknown> => ({
      where: (value, parameter) => `${column.name} ${operator} ${typed(value, parameter, column)}`,
      uses: () => ({ range: column }),
    }),
  });
}

function typed(value: unknown, parameter: BindParameter, column: EntityColumn): string {
  return parameter(parameterOf(value, column), column.databaseName);
}

/** The driver would write a `Date` with a local offset in whole minutes. */
function parameterOf(value: unknown, column: EntityColumn): unknown {
  return value instanceof Date ? column.toParameter(value) : value;
}

function unordered({ type }: EntityColumn): string | undefined {
  return UNORDERED.test(type) ? `has the type ${type}, whose values are not compared` : undefined;
}

function noText({ type }: EntityColumn): string | undefined {
  return type === 'text' ? undefined : `has the type ${type}: only texts are searched`;
}

/**
 * Folds case in all of Unicode, whatever the collation of the database. pg_trgm makes lower-case trigrams; a final Σ would become
 * another letter than a Σ within a word, so it is replaced by a letter without that rule.
 */
function folded(text: string): string {
  return `translate(upper(lower(${text} COLLATE "und-x-icu")), 'Σ', 'Ϲ')`;
}
