import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { buildMessage, ValidateBy, ValidateIf } from 'class-validator';
import { toInteger } from '../../json/exact-json.js';
import { isPlantId, PLANT_ID_RULE, PLANT_ID_SCHEMA } from '../plant-id.js';

/* One decorator per member: its type, its rule and its schema are one thing. */

/**
 * Any text without U+0000. The pattern works in ECMAScript, Java, Python and Go, whose RE2 has no `\u0000`. It leaves
 * out unpaired surrogates, which RE2 cannot match.
 */
const TEXT_SCHEMA = { type: 'string', pattern: String.raw`^[^\x00]*$` } as const;

const TEXT_RULE = 'It must not contain U+0000 or unpaired surrogates.';

/** How the schema of a member differs in a DTO. */
interface Variant {
  readonly description?: string;
  readonly required?: false;
  readonly nullable?: true;
}

export function PlantIdField(variant: Variant = {}): PropertyDecorator {
  return applyDecorators(
    ApiProperty({
      ...PLANT_ID_SCHEMA,
      description: 'Identification number of the plant.',
      example: 7,
      ...variant,
    }),
    // From `obj`: class-transformer leaves no digits in the `value` of a number that a double cannot hold.
    Transform(
      ({ obj, key }: { obj: Record<string, unknown>; key: string }) =>
        toInteger(obj[key]) ?? obj[key],
    ),
    ValidateBy({
      name: 'isPlantId',
      validator: { validate: isPlantId, defaultMessage: () => PLANT_ID_RULE },
    }),
  );
}

export function PlantNameField(variant: Variant = {}): PropertyDecorator {
  return applyDecorators(
    ApiProperty({
      ...TEXT_SCHEMA,
      description: `The name of the plant. ${TEXT_RULE} It may be empty.`,
      example: 'Monstera',
      ...variant,
    }),
    IsStorableText(),
  );
}

export function PlantTagField(variant: Variant = {}): PropertyDecorator {
  return applyDecorators(
    ApiProperty({
      ...TEXT_SCHEMA,
      required: false,
      description: `Tag that specifies the type of the plant. ${TEXT_RULE}`,
      example: 'indoor',
      ...variant,
    }),
    // Not IsOptional(), which would let null pass as well.
    ValidateIf((_, value) => value !== undefined),
    IsStorableText(),
  );
}

/** Text that PostgreSQL can hold: no U+0000 (manual, chapter 8.3) and nothing that has no UTF-8 form. */
export function IsStorableText(): PropertyDecorator {
  return ValidateBy({
    name: 'isStorableText',
    validator: {
      validate: (value) =>
        typeof value === 'string' && value.isWellFormed() && !value.includes('\0'),
      defaultMessage: buildMessage(
        (each, args) =>
          `${each}$property must ${typeof args?.value === 'string' ? 'not contain U+0000 or unpaired surrogates' : 'be a string'}`,
      ),
    },
  });
}
