import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { filterQuery } from '../http/answers/page.js';
import type { PageParameters } from '../http/answers/page.js';
import { keyColumnOf } from './dto-of.js';
import { INT64_KEY, UUID_KEY } from './key-docs.js';
import type { KeyDocs } from './key-docs.js';
import type { Key, Keyed } from './key-type.js';
import { IfPresent } from './member.js';
import { ListParameters, MAX_FILTERS, UuidListParameters } from './page-parameters.js';

/** Most ids of a request. */
const MAX_IDS = 100;

/** `ids=1,2,3`, as OpenAPI says it. */
const IN_ONE = { type: 'array', style: 'form', explode: false } as const;

/** What an export lacks: it has all rows, in ascending order of their ids. */
const ONLY_LISTS = ['limit', 'ids'] as const;

/**
 * The class of the query of a list of an entity, to which a resource adds its filters: `class ListGardensDto extends
 * ListOf(Garden) {}`.
 */
export function ListOf<Entity extends Keyed>(
  entity: Type<Entity>,
): Type<PageParameters<Entity['id']>> {
  const isUuid = keyColumnOf(entity)?.options.type === 'uuid';
  const Parameters: Type<PageParameters> = isUuid ? UuidListParameters : ListParameters;
  class ListQuery extends Parameters {
    @Ids(isUuid ? UUID_KEY : INT64_KEY)
    override readonly ids?: readonly Key[];
  }
  return ListQuery;
}

/** The class of the query of an export: the filters of a list, and `after`. */
export function ExportOf<Query extends PageParameters>(
  list: Type<Query>,
): Type<Omit<Query, (typeof ONLY_LISTS)[number]>> {
  return OmitType(list, ONLY_LISTS);
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
        'Only items with one of these ids, separated by commas. Ids of which there is no item are left out.',
    }),
    Transform(({ value }: { value: unknown }) =>
      value === undefined ? value : typeof value === 'string' ? parse(value) : null,
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

/** The ids that the first page does not reach must fit into the `Link` to the next page, like filters. */
function DoIdsFit(): PropertyDecorator {
  const lengthOf = ({ ids, limit, ...others }: PageParameters): number => {
    const longest = Math.max(...(ids ?? []).map((id) => String(id).length));
    return filterQuery(others).length + ((ids ?? []).length - limit) * (longest + 1);
  };
  return ValidateBy({
    name: 'doIdsFit',
    validator: {
      validate: (ids, args) =>
        !Array.isArray(ids) || !(lengthOf((args?.object ?? {}) as PageParameters) > MAX_FILTERS),
      defaultMessage: () =>
        'limit is too small for so many ids: the link to the next page would be too long',
    },
  });
}
