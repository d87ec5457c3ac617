import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { PageParameters } from '../../http/answers/page.js';
import type { Key } from '../properties/key-type.js';
import type { Sort } from './sort.js';
import { isStorableText } from '../../database/storable-text.js';
import { NO_TEXT } from '../properties/storable.js';

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
   * @param end the greatest
   */
  where(value: Value, parameter: Parameter, start: string, end: string): string;
  /** A condition that selects about as many rows, if the planner cannot estimate how many `where` selects. */
  estimate?(value: Value, parameter: Parameter): string;
  /** What an index has before the id, and pages are sorted by. All rows that it selects are equal in it. */
  readonly indexPrefix?: string;
  /** The column in which all rows that it selects have the same value: to sort them by it, their ids suffice. */
  readonly equals?: string;
  /** Whether it may read many rows that it does not select. Few such lists run at once, and a slow one is refused. */
  readonly isSearch?: boolean;
}

/** A filter, and the value of its parameter in the request. */
export type UsedFilter = readonly [filter: Filter<unknown>, value: unknown];

export interface PageQuery {
  /** The least id that the page may have, and the greatest. */
  readonly start: Key;
  readonly end: Key;
  readonly sort: Sort;
  readonly limit: number;
  /** If there are any, only rows with one of these ids. */
  readonly ids?: readonly Key[] | undefined;
  readonly filters: readonly UsedFilter[];
  /** Most bytes of the rows, as far as they can be long, unless the first row has more. */
  readonly maxBytes: number;
}

/** A page as one of a group that share a statement. */
export interface GroupedPage extends PageQuery {
  /** The conditions and the order, with `rs__wanted.p1`, `rs__wanted.p2` and so on for the values: the statement of the group. */
  readonly clauses: string;
  readonly values: readonly unknown[];
  /** The types of the values in SQL. */
  readonly types: readonly string[];
}

/** A filter for each parameter of a query besides those of every page. */
export type Filters<Query> = {
  readonly [Name in Exclude<keyof Query, keyof PageParameters>]-?: Filter<NonNullable<Query[Name]>>;
};

/**
 * The filters of a request.
 *
 * @throws ServiceException `parameter-not-valid` for text that no column has
 */
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
