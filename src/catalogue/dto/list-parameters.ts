import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy, ValidateIf } from 'class-validator';
import { IsStorableText } from '../../plants/dto/plant-fields.js';
import { isPlantId, parsePlantId, PLANT_ID_SCHEMA } from '../../plants/plant-id.js';

/* One decorator per query parameter: its type, its rule and its schema are one thing. */

const MAX_LIMIT = 1000;

/** Shorter texts have no trigram. */
const MIN_NAME = 3;

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
    ApiPropertyOptional({ type: 'string', description: 'Only plants with exactly this tag.' }),
    isOptional(),
    IsStorableText(),
  );
}

export function NameFilter(): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      type: 'string',
      minLength: MIN_NAME,
      description:
        'Only plants whose name contains this text, in upper or lower case. At least 3 characters.',
    }),
    isOptional(),
    IsStorableText(),
    ValidateBy({
      name: 'isLongEnough',
      validator: {
        validate: (value) => typeof value !== 'string' || Array.from(value).length >= MIN_NAME,
        defaultMessage: () => `name must have at least ${MIN_NAME} characters`,
      },
    }),
  );
}

/** Not IsOptional(), which would let null pass as well. */
function isOptional(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}
