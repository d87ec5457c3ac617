import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy, ValidateIf } from 'class-validator';
import { IsStorableText } from '../../plants/dto/plant-fields.js';
import { filterQuery } from '../link.js';
import type { Filters } from '../link.js';
import { isPlantId, parsePlantId, PLANT_ID_SCHEMA } from '../../plants/plant-id.js';

/* One decorator per query parameter: its type, its rule and its schema are one thing. */

const MAX_LIMIT = 1000;

/** Shorter texts have no trigram. */
const MIN_NAME = 3;

/** The time that PostgreSQL takes to compare grows with the length of the text, and it heeds no timeout within a row. */
const MAX_NAME = 200;

/**
 * Most bytes of the filters in the query of the `Link`, so that the link passes every proxy: nginx takes up to 4 kB of
 * header fields from a service (`proxy_buffer_size`).
 */
const MAX_FILTERS = 2_000;

export function Limit(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      type: 'integer',
      minimum: 1,
      maximum: MAX_LIMIT,
      default: 50,
      description: 'The most plants of the page.',
    }),
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' && /^[1-9]\d{0,3}$/.test(value) ? Number(value) : value,
    ),
    ValidateBy({
      name: 'isLimit',
      validator: {
        validate: (value) => typeof value === 'number' && value <= MAX_LIMIT,
        defaultMessage: () => `limit must be an integer between 1 and ${MAX_LIMIT}`,
      },
    }),
  );
}

export function After(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      ...PLANT_ID_SCHEMA,
      description:
        'Only plants with a greater id: the last id that was received. The `Link` of a page has this value.',
    }),
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' ? (parsePlantId(value) ?? value) : value,
    ),
    isOptional(),
    ValidateBy({
      name: 'isPlantId',
      validator: {
        validate: isPlantId,
        defaultMessage: () => 'after must be the id of a plant, in canonical decimal form',
      },
    }),
  );
}

export function TagFilter(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      type: 'string',
      description: `Only plants with exactly this tag. \`tag\` and \`name\` together have at most ${MAX_FILTERS} bytes, percent-encoded.`,
    }),
    isOptional(),
    IsStorableText(),
    AreFiltersShort(),
  );
}

export function NameFilter(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      type: 'string',
      minLength: MIN_NAME,
      maxLength: MAX_NAME,
      description: `Only plants whose name contains this text, in upper or lower case, in its first 4,000 characters. ${MIN_NAME} to ${MAX_NAME} characters.`,
    }),
    isOptional(),
    IsStorableText(),
    ValidateBy({
      name: 'hasLength',
      validator: {
        validate: (value) => typeof value !== 'string' || isNameFilter(value),
        defaultMessage: () => `name must have ${MIN_NAME} to ${MAX_NAME} characters`,
      },
    }),
    AreFiltersShort(),
  );
}

function isNameFilter(text: string): boolean {
  const { length } = Array.from(text);
  return length >= MIN_NAME && length <= MAX_NAME;
}

/** A rule of all filters together. */
function AreFiltersShort(): PropertyDecorator {
  return ValidateBy({
    name: 'areFiltersShort',
    validator: {
      validate: (_, args) => filterQuery(args?.object as Filters).length <= MAX_FILTERS,
      defaultMessage: () =>
        `tag and name together must have at most ${MAX_FILTERS} bytes, percent-encoded`,
    },
  });
}

/** Not IsOptional(), which would let null pass as well. */
function isOptional(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}
