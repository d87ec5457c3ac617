import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { PageParameters } from '../../http/responses/page.js';
import type { Key } from '../properties/key-type.js';
import type { Sort } from './sort.js';
import { isStorableText } from '../../database/storable-text.js';
import { NO_TEXT } from '../properties/storable.js';

/**
 * Adds a value to a statement, and returns its placeholder.
 *
 * @param column the column whose type the value has; by default the value is text
 */
export type Parameter = (value: unknown, column?: string) => string;

export interface Filter<Value> {
  /**
   * Returns the condition for a row in SQL.
   *
   * @param start the least id of the page, as text
   * @param end the greatest
   */
  where(value: Value, parameter: Parameter, start: string, end: string): string;
  /** A condition that selects about as many rows, if the planner cannot estimate how many `where` selects. */
  estimate?(value: Value, parameter: Parameter): string;
  /** An expression in which all selected rows are equal, and which an index has before the id: pages are sorted by it. */
  readonly indexPrefix?: string;
  /** The column in which all selected rows have one value: to sort them by it, their ids suffice. */
  readonly equals?: string;
  /** Whether it may read many rows that it does not select. Few such lists run at once, and a slow one is rejected. */
  readonly isSearch?: boolean;
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
  /** The limit for columns whose values can be long, unless the first row has more. */
  readonly maxBytes: number;
}

/** A page that can share a statement with pages of equal clauses. */
export interface GroupedPage extends PageQuery {
  /** The conditions and the order, with `rs__wanted.p1`, `rs__wanted.p2` and so on for the values. */
  readonly clauses: string;
  readonly values: readonly unknown[];
  readonly types: readonly string[];
}

/** A filter for each parameter of a query that not every page has. */
export type Filters<Query> = {
  readonly [Name in Exclude<keyof Query, keyof PageParameters>]-?: Filter<NonNullable<Query[Name]>>;
};

/** @throws ServiceException `parameter-not-valid` for text that no column can store */
export function usedFilters<Query extends PageParameters>(
  filters: Filters<Query>,
  parameters: Query,
): readonly UsedFilter[] {
  const used: UsedFilter[] = [];
  for (const [name, filter] of Object.entries<Filter<unknown>>(filters)) {
    const value: unknown = parameters[name as keyof Query];
    if (value === undefined) continue;
    if (typeof value === 'string' && !isStorableText(value)) {
      throw new ServiceException(ERRORS.parameterNotValid, `${name} ${NO_TEXT}`);
    }
    used.push([filter, value]);
  }
  return used;
}
