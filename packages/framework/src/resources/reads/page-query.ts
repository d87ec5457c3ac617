import type { PageParameters } from '../../http/responses/page.js';
import type { Key, KeyType } from '../properties/key-type.js';
import type { ActorOption } from '../recording/actor.js';
import type { EntityColumn } from '../properties/entity-column.js';
import type { Sort } from './sort.js';

/**
 * Adds a value to a statement, and returns its placeholder.
 *
 * @param column the column whose type the value has; by default the value is text
 */
export type BindParameter = (value: unknown, column?: string) => string;

/**
 * A condition in SQL, for what {@link ColumnFilter} cannot express.
 *
 * @example const ofMaker: Filter<string> = { where: (value, parameter) => `specs->>'maker' = ${parameter(value)}`, isSearch: true };
 */
export interface Filter<Value> {
  /**
   * Returns the condition for a row in SQL.
   *
   * @param start the least id of the page, as text
   * @param end the greatest
   */
  where(value: Value, parameter: BindParameter, start: string, end: string): string;
  /** A condition that selects about as many rows, if the planner cannot estimate how many `where` selects. */
  estimate?(value: Value, parameter: BindParameter): string;
  /** An expression in which all selected rows are equal, and which an index has before the id: pages are sorted by it. */
  readonly indexPrefix?: string;
  /** The column in which all selected rows have one value: to sort them by it, their ids suffice. */
  readonly equals?: string;
  /** Whether it may read many rows that it does not select. Few such lists run at once, and a slow one is rejected. */
  readonly isSearch?: boolean;
  /**
   * What an index needs to serve the condition: it selects all rows in which a column has a value, or some with values of a range. The first
   * can replace it.
   */
  uses?(value: Value): { readonly fixed?: FixedColumn; readonly range?: EntityColumn };
}

/** A column that has one value in all rows of a list. */
export interface FixedColumn {
  readonly column: EntityColumn;
  /** As a parameter of a statement; `null`: none. */
  readonly value: unknown;
  /** Whether the index that is read lacks the rows without a value in the column. */
  readonly isPartial?: boolean;
}

export type UsedFilter = readonly [filter: Filter<unknown>, value: unknown];

export interface PageQuery {
  /** The least id, and the greatest. */
  readonly start: Key;
  readonly end: Key;
  readonly sort: Sort;
  readonly limit: number;
  readonly ids?: readonly Key[] | undefined;
  readonly filters: readonly UsedFilter[];
  /** What an index has before the id. The page is read in this order. */
  readonly prefix?: readonly FixedColumn[] | undefined;
  /** The first columns of the order, in which all rows have one value. */
  readonly starts?: readonly FixedColumn[];
  /** The limit for columns whose values can be long, unless the first row has more. */
  readonly maxBytes: number;
}

/** A page that can share a statement with pages of equal clauses. */
export interface GroupedPage extends Pick<PageQuery, 'sort' | 'limit' | 'maxBytes'> {
  /** The conditions and the order, with `rs__wanted.p1`, `rs__wanted.p2` and so on for the values. */
  readonly clauses: string;
  readonly values: readonly unknown[];
  readonly types: readonly string[];
}

/**
 * A filter for each parameter of a query that not every page has.
 *
 * @example export const TOOL_FILTERS: Filters<ListToolsDto> = { kind: isEqual('kind'), maker: ofMaker };
 */
export type Filters<Query> = {
  readonly [Name in Exclude<keyof Query, keyof PageParameters>]-?: Filter<NonNullable<Query[Name]>>;
};

/**
 * The values that columns of all rows of a list have, by property; `null`: none.
 *
 * @example return this.loans.list(query, { where: { toolId: id } });
 */
export type Where<Entity = Readonly<Record<string, unknown>>> = {
  readonly [Property in keyof Entity]?: Entity[Property];
};

/** What `list` of a repository takes besides the query. */
export interface ListContext<Entity = Readonly<Record<string, unknown>>> extends ActorOption {
  /** Only rows with these values: a nested list, whose `Link` does not repeat what the path says. */
  readonly where?: Where<Entity>;
}

/** The least and the greatest id of a page: any id if the page is sorted by a column. */
export function rangeOf(keyType: KeyType, { by, isDescending }: Sort, after: Key | undefined) {
  const { least, greatest } = keyType;
  const isEmpty = by.length === 0 && after === (isDescending ? least : greatest);
  if (after === undefined || by.length > 0 || isEmpty) {
    return { start: least, end: greatest, isEmpty };
  }
  return isDescending
    ? { start: least, end: keyType.next(after, -1n), isEmpty }
    : { start: keyType.next(after, 1n), end: greatest, isEmpty };
}
