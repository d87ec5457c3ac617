import type { Type } from '@nestjs/common';
import { OmitType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsIn } from 'class-validator';
import { filterQuery, MAX_FILTER_BYTES, ONLY_LISTS } from '../../http/responses/page.js';
import type { PageParameters } from '../../http/responses/page.js';
import { keyColumnOf } from '../properties/dto-of.js';
import { KEY_TYPES } from '../properties/key-type.js';
import type { Key, Keyed, KeyType } from '../properties/key-type.js';
import { Field, Parsed, Satisfies } from '../properties/property.js';
import { TEXT_SCHEMA } from '../properties/text.js';
import type { ColumnFilter } from './column-filter.js';
import { expandable } from './expansion.js';
import type { Expansions } from './expansion.js';
import { FilterParameter } from './filter-parameters.js';
import type { ColumnFilters, FilterParameters } from './filter-parameters.js';
import { ListParameters, UuidListParameters } from './page-parameters.js';
import { MAX_COUNTED } from './page-statement.js';
import { ordersOf, parseSort, sortableOf, sqlTextsOf } from './sort.js';

export const MAX_IDS = 100;

/** In bytes, for a list sorted by a column: the `Link` also has its value, whose 100 characters take up to 1,200 bytes. */
export const MAX_FILTER_BYTES_BESIDE_VALUE = 1_400;

/** Likewise, for a list sorted by several columns, of which two can be texts. */
export const MAX_FILTER_BYTES_BESIDE_VALUES = 200;

/** `ids=1,2,3` in OpenAPI, which cannot express that `ids=1&ids=2,3` is valid, too. */
const IN_ONE = { type: 'array', style: 'form', explode: false } as const;

/**
 * The class of the query of a list of an entity, with a parameter for each filter. Other filters are its further properties.
 *
 * @example
 * export const TOOL_FILTERS = { kind: isIn('kind'), from: isAtLeast('price') };
 *
 * class ListToolsDto extends ListOf(Tool, TOOL_FILTERS) {}
 *
 * @param expansions the related rows that items have on request
 */
export function ListOf<Entity extends Keyed>(
  entity: Type<Entity>,
): Type<PageParameters<Entity['id']>>;
export function ListOf<Entity extends Keyed, Declared extends ColumnFilters<Entity>>(
  entity: Type<Entity>,
  filters: Declared,
  expansions?: Expansions<Entity>,
): Type<PageParameters<Entity['id']> & FilterParameters<Entity, Declared>>;
export function ListOf(
  entity: Type<Keyed>,
  filters: Readonly<Record<string, ColumnFilter>> = {},
  expansions: Expansions = {},
): Type<PageParameters> {
  const isUuid = keyColumnOf(entity)?.options.type === 'uuid';
  const orders = ordersOf(entity).map((order) => order.join());
  const sortable = sortableOf(entity).flatMap((name) => [name, `-${name}`]);
  const Parameters: Type<PageParameters> = isUuid ? UuidListParameters : ListParameters;
  class ListQuery extends Parameters {
    @SortBy([...sortable, ...orders])
    override readonly sort?: string;

    @Ids(KEY_TYPES[isUuid ? 'uuid' : 'bigint'])
    override readonly ids?: readonly Key[];

    @Count()
    override readonly count?: boolean;
  }
  if (sortable.length + orders.length > 0) {
    AfterValue(orders.length > 0)(ListQuery.prototype, 'afterValue');
  }
  for (const [name, filter] of Object.entries(filters)) {
    FilterParameter(entity, filter)(ListQuery.prototype, name);
  }
  expandable(ListQuery, expansions);
  return ListQuery;
}

/**
 * The class of the query of an export: the filters of a list, and `after`.
 *
 * @example export class ExportToolsDto extends ExportOf(ListToolsDto) {}
 */
export function ExportOf<Query extends PageParameters>(
  list: Type<Query>,
): Type<Omit<Query, (typeof ONLY_LISTS)[number]>> {
  return OmitType(list, ONLY_LISTS);
}

function SortBy(sortable: readonly string[]): PropertyDecorator {
  const orders = ['id', '-id', ...sortable];
  const nulls =
    sortable.length === 0 ? '' : ' Items without a value come last, in both directions.';
  return Field(
    {
      ...TEXT_SCHEMA,
      enum: orders,
      default: 'id',
      description: `The order of the items: ${orders.map((order) => `\`${order}\``).join(', ')}. \`-\` means descending.${nulls}`,
      isOptional: true,
    },
    IsIn(orders, { message: `sort must be one of ${orders.join(', ')}` }),
    ...(sortable.length === 0 ? [] : CONSTRAINTS_OF_SORT),
  );
}

/** Another validation rejects other types. */
const isById = (sort: unknown) => typeof sort !== 'string' || parseSort(sort).property === 'id';

const CONSTRAINTS_OF_SORT = [
  // With only one of them, the page would begin anywhere.
  ofSort(
    'hasWholeStart',
    ({ after, afterValue }) => (after === undefined) === (afterValue === undefined),
    'after and afterValue must be given together for the order of a column, as the link to the next page has them',
  ),
  // The link could be too long: it leaves out the ids that were read only in a list sorted by id.
  ofSort('hasNoIds', ({ ids }) => ids === undefined, 'sort must be id or -id for a list of ids'),
  ofSort(
    'hasShortFilters',
    (parameters) => filterQuery(parameters).length <= maxFilters(parameters),
    ({ object }) =>
      `sort must be id or -id for filters of more than ${maxFilters(object)} bytes together, percent-encoded`,
  ),
];

function maxFilters(parameters: object): number {
  return columnsIn(parameters) > 1 ? MAX_FILTER_BYTES_BESIDE_VALUES : MAX_FILTER_BYTES_BESIDE_VALUE;
}

function columnsIn(parameters: object): number {
  const { sort } = parameters as Pick<PageParameters, 'sort'>;
  // A parameter can be given twice.
  return typeof sort === 'string' ? sort.split(',').length : 1;
}

function ofSort(
  name: string,
  validate: (parameters: PageParameters) => boolean,
  message: Parameters<typeof Satisfies>[2],
): PropertyDecorator {
  return Satisfies(
    name,
    (sort, { object }) => isById(sort) || validate(object as PageParameters),
    message,
  );
}

function AfterValue(hasOrders: boolean): PropertyDecorator {
  const ofSeveral = hasOrders ? ' Of several columns, an array of their values as texts.' : '';
  return Field(
    {
      ...TEXT_SCHEMA,
      description: `With \`after\`, if the list is sorted by a column: the value that the last item has in it, in JSON, such as \`"text"\`, \`7\` or \`null\`.${ofSeveral} The \`Link\` of a page has both.`,
      isOptional: true,
    },
    Satisfies(
      'isAfterValue',
      (value, { object }) =>
        typeof value === 'string' && sqlTextsOf(value, columnsIn(object)) !== undefined,
      ({ object }) =>
        columnsIn(object) > 1
          ? 'afterValue must be an array in JSON with a text or null for each column of the order'
          : 'afterValue must be a text, a number, a boolean or null in JSON',
    ),
    Satisfies(
      'hasColumn',
      (_, { object }) => !isById((object as PageParameters).sort),
      'afterValue needs an order by another column than the id',
    ),
  );
}

function Ids(key: KeyType): PropertyDecorator {
  const parse = (text: string): readonly Key[] | null => {
    const ids = text.split(',', MAX_IDS + 1).map((id) => key.parse(id));
    return ids.length <= MAX_IDS && ids.every((id) => id !== undefined) ? ids : null;
  };
  return Field(
    {
      ...IN_ONE,
      items: key.schema,
      minItems: 1,
      maxItems: MAX_IDS,
      description:
        'Only items with one of these ids, separated by commas, or in a parameter for each of them. Ids of which there is no item are left out.',
      isOptional: true,
    },
    // The parser of the query makes an array of a repeated parameter.
    Transform(({ value }: { value: string | readonly string[] | undefined }) =>
      value === undefined ? value : parse(String(value)),
    ),
    Satisfies(
      'areIds',
      Array.isArray,
      `ids must be at most ${MAX_IDS} ids, separated by commas; ${key.constraintOf('each of them')}`,
    ),
    Satisfies(
      'doIdsFit',
      (ids, { object }) =>
        !Array.isArray(ids) || !(lengthOfRest(object as PageParameters) > MAX_FILTER_BYTES),
      'limit is too small for so many ids: the link to the next page would be too long',
    ),
  );
}

/**
 * The ids beyond the first page must fit into its `Link`, like filters. A page of long items ends earlier: then the link itself
 * is rejected.
 */
function lengthOfRest({ ids = [], limit, ...others }: PageParameters): number {
  const longest = Math.max(...ids.map((id) => String(id).length));
  return filterQuery(others).length + (ids.length - limit) * (longest + 1);
}

function Count(): PropertyDecorator {
  return Field(
    {
      type: 'boolean',
      default: false,
      description: `Whether to count the items that match, on all pages: \`X-Total-Count\` says how many, exactly up to ${MAX_COUNTED}. Beyond, it is an estimate, and \`X-Total-Count-Exact\` is \`false\`.`,
      isOptional: true,
    },
    Parsed((text) => (text === 'true' ? true : text === 'false' ? false : undefined)),
    IsBoolean({ message: 'count must be true or false' }),
  );
}
