import { isStorableText } from '../../database/storable-text.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { EntityColumn } from '../properties/entity-column.js';
import type { EntityColumns } from '../properties/entity-columns.js';
import { NO_TEXT } from '../properties/storable.js';
import { parseUuid } from '../properties/uuid.js';
import { isEqual, isNull } from './column-filter.js';
import type { ColumnFilter } from './column-filter.js';
import type { Filter, Filters, UsedFilter, Where } from './page-query.js';

/** The filters of a resource, by parameter. */
export type NamedFilters = readonly (readonly [name: string, filter: Filter<unknown>])[];

export function filtersOn<Query>(columns: EntityColumns, filters: Filters<Query>): NamedFilters {
  return Object.entries<Filter<unknown>>(filters).map(([name, filter]) => {
    if (!isOnColumn(filter)) return [name, filter];
    return [name, filter.conditionOn(columnOf(columns, filter)!)];
  });
}

export function isOnColumn(filter: Filter<never>): filter is ColumnFilter {
  return 'conditionOn' in filter;
}

export function columnOf(
  columns: EntityColumns,
  { property, isByColumn = false }: ColumnFilter,
): EntityColumn | undefined {
  const named = isByColumn ? columns.named(property) : undefined;
  return named ?? columns.all.find((column) => column.property === property);
}

/** @throws ServiceException `parameter-not-valid` for text that no column can store */
export function usedFilters(filters: NamedFilters, parameters: object): UsedFilter[] {
  const values = parameters as Readonly<Record<string, unknown>>;
  const used: UsedFilter[] = [];
  for (const [name, filter] of filters) {
    const value = values[name];
    if (value === undefined) continue;
    if (typeof value === 'string' && !isStorableText(value)) {
      throw new ServiceException(ERRORS.parameterNotValid, `${name} ${NO_TEXT}`);
    }
    used.push([filter, value]);
  }
  return used;
}

const NO_ROW: Filter<unknown> = { where: () => 'false' };

/**
 * The filters of a list whose rows have these values. No parameter has them, so no `Link` does.
 *
 * @throws TypeError for `undefined`, which would select all rows
 */
export function columnFilters(columns: EntityColumns, where: Where): readonly UsedFilter[] {
  return Object.entries(where).map(([property, value]) => {
    const column = columns.column(property);
    if (value === undefined) throw new TypeError(`where: ${property} is undefined`);
    // PostgreSQL would reject it: the id of a principal may be the name of a token.
    const isNoUuid = typeof value === 'string' && parseUuid(value) === undefined;
    if (column.type === 'uuid' && isNoUuid) return [NO_ROW, true];
    const filter = value === null ? isNull(property) : isEqual(property);
    return [filter.conditionOn(column), value ?? true];
  });
}
