import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { buildMessage, ValidateBy } from 'class-validator';
import { IfPresent } from './if-present.js';
import type { Member } from './if-present.js';
import { isStorableText } from '../../database/storable-text.js';
import { NO_TEXT } from './storable.js';

/**
 * Any text without U+0000. The pattern works in ECMAScript, Java, Python and Go, whose RE2 has no `\u0000`. It leaves
 * out unpaired surrogates, which RE2 cannot match.
 */
export const TEXT_SCHEMA = { type: 'string', pattern: String.raw`^[^\x00]*$` } as const;

/** In characters: Unicode code points, as JSON Schema counts them. */
interface Lengths {
  readonly minLength?: number;
  readonly maxLength?: number;
}

export interface TextMember extends Member<string>, Lengths {}

/** A member that is text of any script: its rule and its schema. */
export function TextField({ isOptional = false, ...member }: TextMember): PropertyDecorator {
  return applyDecorators(
    ApiProperty({
      ...TEXT_SCHEMA,
      ...member,
      description: `${member.description} It must not contain U+0000 or unpaired surrogates.`,
      required: !isOptional,
    }),
    ...(isOptional ? [IfPresent()] : []),
    IsText(member),
  );
}

/**
 * Requires text that PostgreSQL can hold, if wanted of some length. In the class of a DTO:
 *
 * ```ts
 * @ApiProperty({ ...TEXT_SCHEMA, maxLength: 200, description: 'The name of the tool.' })
 * @IsText({ maxLength: 200 })
 * readonly name!: string;
 * ```
 */
export function IsText({ minLength = 0, maxLength = Infinity }: Lengths = {}): PropertyDecorator {
  const isBounded = minLength > 0 || maxLength < Infinity;
  return applyDecorators(IsStorableText(), ...(isBounded ? [HasLength(minLength, maxLength)] : []));
}

/** Text that PostgreSQL can hold: no U+0000 (manual, chapter 8.3) and nothing that has no UTF-8 form. */
export function IsStorableText(): PropertyDecorator {
  return ValidateBy({
    name: 'isStorableText',
    validator: {
      validate: (value) => typeof value === 'string' && isStorableText(value),
      defaultMessage: buildMessage(
        (each, args) =>
          `${each}$property ${typeof args?.value === 'string' ? NO_TEXT : 'must be a string'}`,
      ),
    },
  });
}

/** Bounds the length of a text, in Unicode code points. */
export function HasLength(min: number, max: number): PropertyDecorator {
  const rule =
    max === Infinity ? `at least ${min}` : min === 0 ? `at most ${max}` : `${min} to ${max}`;
  return ValidateBy({
    name: 'hasLength',
    validator: {
      // Another rule refuses what is no text.
      validate: (value) => typeof value !== 'string' || isWithin(value, min, max),
      defaultMessage: buildMessage((each) => `${each}$property must have ${rule} characters`),
    },
  });
}

function isWithin(text: string, min: number, max: number): boolean {
  // A code point has one or two UTF-16 code units.
  if (text.length > 2 * max) return false;
  const { length } = Array.from(text);
  return length >= min && length <= max;
}
