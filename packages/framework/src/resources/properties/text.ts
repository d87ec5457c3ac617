import { applyDecorators } from '@nestjs/common';
import { isStorableText } from '../../database/storable-text.js';
import { Declares } from './kind.js';
import type { Kind } from './kind.js';
import { Field, Satisfies } from './property.js';
import type { PropertyOptions } from './property.js';
import { NO_TEXT } from './storable.js';

/**
 * The schema of any text without U+0000. The pattern works in ECMAScript, Java, Python and Go, whose RE2 has no `\u0000` and cannot match
 * unpaired surrogates.
 *
 * @example @ApiProperty({ ...TEXT_SCHEMA, maxLength: 200, description: 'The name of the tool.' })
 */
export const TEXT_SCHEMA = { type: 'string', pattern: String.raw`^[^\x00]*$` } as const;

const TEXT: Kind<string> = {
  schema: TEXT_SCHEMA,
  parse: (text) => (isStorableText(text) ? text : undefined),
  constraintOf: (name) => `${name} ${NO_TEXT}`,
};

/** In characters: Unicode code points, as JSON Schema counts them. */
interface Lengths {
  readonly minLength?: number;
  readonly maxLength?: number;
}

export interface TextOptions extends PropertyOptions<string>, Lengths {}

/**
 * Declares the validation and schema of a text of any script. Lengths are in code points.
 *
 * @example
 * @Column('text')
 * @TextField({ description: 'The name of the tool.', minLength: 1, maxLength: 200 })
 * readonly name!: string;
 */
export function TextField(options: TextOptions): PropertyDecorator {
  const description = `${options.description} It must not contain U+0000 or unpaired surrogates.`;
  return Field(
    { ...TEXT_SCHEMA, ...options, description },
    IsText(options),
    Declares({ kind: TEXT }),
  );
}

/**
 * Requires text that PostgreSQL can store, optionally of bounded length. For the class of a DTO.
 *
 * @example
 * @ApiProperty({ ...TEXT_SCHEMA, maxLength: 200, description: 'The name of the tool.' })
 * @IsText({ maxLength: 200 })
 * readonly name!: string;
 */
export function IsText({ minLength = 0, maxLength = Infinity }: Lengths = {}): PropertyDecorator {
  const isBounded = minLength > 0 || maxLength < Infinity;
  return applyDecorators(IsStorableText(), ...(isBounded ? [HasLength(minLength, maxLength)] : []));
}

/**
 * Requires text that PostgreSQL can store: no U+0000 (manual, chapter 8.3), and nothing that has no UTF-8 form.
 *
 * @example
 * @IsStorableText()
 * @Matches(/^[A-Z]+$/)
 * readonly code!: string;
 */
export function IsStorableText(): PropertyDecorator {
  return Satisfies(
    'isStorableText',
    (value) => typeof value === 'string' && isStorableText(value),
    ({ value }) => `$property ${typeof value === 'string' ? NO_TEXT : 'must be a string'}`,
  );
}

function HasLength(min: number, max: number): PropertyDecorator {
  const range =
    max === Infinity ? `at least ${min}` : min === 0 ? `at most ${max}` : `${min} to ${max}`;
  return Satisfies(
    'hasLength',
    // Another validation rejects other types.
    (value) => typeof value !== 'string' || isWithin(value, min, max),
    `$property must have ${range} characters`,
  );
}

/** Counts Unicode code points. */
export function isWithin(text: string, min: number, max: number): boolean {
  // A code point has one or two UTF-16 code units.
  if (text.length > 2 * max) return false;
  const { length } = Array.from(text);
  return length >= min && length <= max;
}
