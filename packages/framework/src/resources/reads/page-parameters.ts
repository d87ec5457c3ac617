import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Max } from 'class-validator';
import { filterQuery, isFilter, MAX_FILTER_BYTES } from '../../http/responses/page.js';
import { Int64Parameter } from '../properties/int64.js';
import { Field, Parsed, Satisfies } from '../properties/property.js';
import { IsText, TEXT_SCHEMA } from '../properties/text.js';
import type { TextOptions } from '../properties/text.js';
import { UuidParameter } from '../properties/uuid.js';

export const MAX_LIMIT = 1_000;

/** Declares the maximum number of items of a page. */
export function LimitParameter(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      type: 'integer',
      minimum: 1,
      maximum: MAX_LIMIT,
      default: 50,
      description: 'The maximum number of items on the page.',
    }),
    Parsed((text) => (/^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined)),
    Max(MAX_LIMIT, { message: `limit must be an integer between 1 and ${MAX_LIMIT}` }),
  );
}

/**
 * Declares the validation and schema of a filter that is text. Without `maxLength`, only the total length of all filters is
 * bounded.
 *
 * @example
 * @TextParameter({ description: 'Only tools of this maker.', maxLength: 200 })
 * readonly maker?: string;
 */
export function TextParameter(parameter: Omit<TextOptions, 'isOptional'>): PropertyDecorator {
  return Field(
    { ...TEXT_SCHEMA, ...parameter, isOptional: true },
    IsText(parameter),
    AreFiltersShort(),
  );
}

/**
 * For each filter of a query: all filters together must fit into the `Link` to the next page.
 *
 * @example
 * @AreFiltersShort()
 * @Matches(/^[A-Z]+$/)
 * readonly code?: string;
 */
export function AreFiltersShort(): PropertyDecorator {
  return Satisfies(
    'areFiltersShort',
    (_, { object }) => filterQuery(object).length <= MAX_FILTER_BYTES,
    ({ object }) => {
      const names = Object.keys(object).filter(isFilter);
      const all = names.length === 1 ? names : [names.join(' and '), 'together'];
      return `${all.join(' ')} must have at most ${MAX_FILTER_BYTES} bytes, percent-encoded`;
    },
  );
}

const AFTER =
  'Only items after this one: the last id that was received. The `Link` of a page has this value.';

/**
 * The parameters of a list without its filters, for a list that is not of an entity.
 *
 * @example class ListNoticesDto extends ListParameters {}
 */
export class ListParameters {
  @LimitParameter()
  readonly limit: number = 50;

  @Int64Parameter(AFTER)
  readonly after?: bigint;
}

/**
 * Like {@link ListParameters}, for ids that are UUIDs.
 *
 * @example class ListNoticesDto extends UuidListParameters {}
 */
export class UuidListParameters {
  @LimitParameter()
  readonly limit: number = 50;

  @UuidParameter(AFTER)
  readonly after?: string;
}
