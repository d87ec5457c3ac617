import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsIn, ValidateBy } from 'class-validator';
import type { ValidationArguments } from 'class-validator';
import { filterQuery, MAX_FILTERS } from '../../http/answers/page.js';
import type { PageParameters } from '../../http/answers/page.js';
import { keyColumnOf } from '../properties/dto-of.js';
import { INT64_KEY, UUID_KEY } from '../properties/key-docs.js';
import type { KeyDocs } from '../properties/key-docs.js';
import type { Key, Keyed } from '../properties/key-type.js';
import { IfPresent } from '../properties/if-present.js';
import { ListParameters, UuidListParameters } from './page-parameters.js';
import { MAX_COUNTED } from './page-statement.js';
import { parseSort, sortableOf, sqlTextOf } from './sort.js';
import { TEXT_SCHEMA } from '../properties/text.js';

export const MAX_IDS = 100;

/** In bytes, for a list sorted by a column: the `Link` also has its value, whose 100 characters take up to 1,200 bytes. */
export const MAX_FILTERS_BESIDE_VALUE = 1_400;

/** `ids=1,2,3` in OpenAPI, which cannot express that `ids=1&ids=2,3` is valid, too. */
const IN_ONE = { type: 'array', style: 'form', explode: false } as const;

/** An export has all rows, in ascending order of their ids. */
const ONLY_LISTS = ['limit', 'ids', 'sort', 'afterValue', 'count'] as const;

/**
 * The class of the query of a list of an entity, to which a resource adds its filters: `class ListGardensDto extends
 * ListOf(Garden) {}`.
 */
export function ListOf<Entity extends Keyed>(
  entity: Type<Entity>,
): Type<PageParameters<Entity['id']>> {
  const isUuid = keyColumnOf(entity)?.options.type === 'uuid';
  const sortable = sortableOf(entity);
  const Parameters: Type<PageParameters> = isUuid ? UuidListParameters : ListParameters;
  class ListQuery extends Parameters {
    @SortBy(sortable)
    override readonly sort?: string;

    @Ids(isUuid ? UUID_KEY : INT64_KEY)
    override readonly ids?: readonly Key[];

    @Count()
    override readonly count?: boolean;
  }
  if (sortable.length > 0) AfterValue()(ListQuery.prototype, 'afterValue');
  return ListQuery;
}

/** The class of the query of an export: the filters of a list, and `after`. */
export function ExportOf<Query extends PageParameters>(
  list: Type<Query>,
): Type<Omit<Query, (typeof ONLY_LISTS)[number]>> {
  return OmitType(list, ONLY_LISTS);
}

function SortBy(sortable: readonly string[]): PropertyDecorator {
  const orders = ['id', ...sortable].flatMap((name) => [name, `-${name}`]);
  const nulls =
    sortable.length === 0 ? '' : ' Items without a value come last, in both directions.';
  return applyDecorators(
    ApiPropertyOptional({
      ...TEXT_SCHEMA,
      enum: orders,
      default: 'id',
      description: `The order of the items: ${orders.map((order) => `\`${order}\``).join(', ')}. \`-\` means from the greatest to the least.${nulls}`,
    }),
    IfPresent(),
    IsIn(orders, { message: `sort must be one of ${orders.join(', ')}` }),
    ...(sortable.length === 0 ? [] : [HasWholeStart(), HasNoIds(), HasShortFilters()]),
  );
}

/** All parameters of the request, for validations of several. */
const parametersOf = (args?: ValidationArguments) => (args?.object ?? {}) as PageParameters;

/** Another validation rejects other types. */
const isById = (sort: unknown) => typeof sort !== 'string' || parseSort(sort).property === 'id';

/** A page sorted by a column begins after a value and an id. With only one of them, it would begin anywhere. */
function HasWholeStart(): PropertyDecorator {
  return ValidateBy({
    name: 'hasWholeStart',
    validator: {
      validate: (sort, args) => {
        const { after, afterValue } = parametersOf(args);
        return isById(sort) || (after === undefined) === (afterValue === undefined);
      },
      defaultMessage: () =>
        'after and afterValue must be given together for the order of a column, as the link to the next page has them',
    },
  });
}

/** The link could be too long: it leaves out the ids that were read only in a list sorted by id. */
function HasNoIds(): PropertyDecorator {
  return ValidateBy({
    name: 'hasNoIds',
    validator: {
      validate: (sort, args) => isById(sort) || parametersOf(args).ids === undefined,
      defaultMessage: () => 'sort must be id or -id for a list of ids',
    },
  });
}

function HasShortFilters(): PropertyDecorator {
  return ValidateBy({
    name: 'hasShortFilters',
    validator: {
      validate: (sort, args) =>
        isById(sort) || filterQuery(parametersOf(args)).length <= MAX_FILTERS_BESIDE_VALUE,
      defaultMessage: () =>
        `sort must be id or -id for filters of more than ${MAX_FILTERS_BESIDE_VALUE} bytes together, percent-encoded`,
    },
  });
}

function AfterValue(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      ...TEXT_SCHEMA,
      description:
        'With `after`, if the list is sorted by a column: the value that the last item has in it, in JSON, such as `"text"`, `7` or `null`. The `Link` of a page has both.',
    }),
    IfPresent(),
    ValidateBy({
      name: 'isAfterValue',
      validator: {
        validate: (value) => typeof value === 'string' && sqlTextOf(value) !== undefined,
        defaultMessage: () => 'afterValue must be a text, a number, a boolean or null in JSON',
      },
    }),
    ValidateBy({
      name: 'hasColumn',
      validator: {
        validate: (_, args) => !isById(parametersOf(args).sort),
        defaultMessage: () => 'afterValue needs an order by another column than the id',
      },
    }),
  );
}

/** The parser of the query makes an array of a repeated parameter. */
function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join() : String(value);
}

function Ids(key: KeyDocs): PropertyDecorator {
  const parse = (text: string): readonly Key[] | null => {
    const ids = text.split(',', MAX_IDS + 1).map((id) => key.parse(id));
    return ids.length <= MAX_IDS && ids.every((id) => id !== undefined) ? ids : null;
  };
  return applyDecorators(
    ApiPropertyOptional({
      ...IN_ONE,
      items: key.schema,
      minItems: 1,
      maxItems: MAX_IDS,
      description:
        'Only items with one of these ids, separated by commas, or in a parameter for each of them. Ids of which there is no item are left out.',
    }),
    Transform(({ value }: { value: unknown }) =>
      value === undefined ? value : parse(textOf(value)),
    ),
    IfPresent(),
    ValidateBy({
      name: 'areIds',
      validator: {
        validate: Array.isArray,
        defaultMessage: () =>
          `ids must be at most ${MAX_IDS} ids, separated by commas; ${key.ruleOf('each of them')}`,
      },
    }),
    DoIdsFit(),
  );
}

/**
 * The ids beyond the first page must fit into its `Link`, like filters. A page of long items ends earlier: then the link itself
 * is rejected.
 */
function DoIdsFit(): PropertyDecorator {
  const lengthOf = ({ ids, limit, ...others }: PageParameters): number => {
    const longest = Math.max(...(ids ?? []).map((id) => String(id).length));
    return filterQuery(others).length + ((ids ?? []).length - limit) * (longest + 1);
  };
  return ValidateBy({
    name: 'doIdsFit',
    validator: {
      validate: (ids, args) => !Array.isArray(ids) || !(lengthOf(parametersOf(args)) > MAX_FILTERS),
      defaultMessage: () =>
        'limit is too small for so many ids: the link to the next page would be too long',
    },
  });
}

function Count(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      type: 'boolean',
      default: false,
      description: `Whether to count the items that match, on all pages: \`X-Total-Count\` says how many, exactly up to ${MAX_COUNTED}. Beyond, it is an estimate, and \`X-Total-Count-Exact\` is \`false\`.`,
    }),
    Transform(({ value }: { value: unknown }) =>
      value === 'true' ? true : value === 'false' ? false : value,
    ),
    IfPresent(),
    IsBoolean({ message: 'count must be true or false' }),
  );
}
