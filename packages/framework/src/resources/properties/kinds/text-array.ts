import { isStorableText } from '../../../database/storable-text.js';
import { ColumnField } from '../column-field.js';
import type { ColumnFieldOptions } from '../column-field.js';
import { Satisfies } from '../property.js';
import { isWithin, TEXT_SCHEMA } from '../text.js';

interface TextArrayOptions extends Omit<ColumnFieldOptions<readonly string[]>, 'default'> {
  readonly maxItems: number;
  /** Of each text, in characters. */
  readonly maxLength: number;
  readonly default?: readonly [];
}

/**
 * Declares texts in a property of type `string[]`, with a column `text[]`. They keep their order, and can be equal.
 *
 * @example
 * @TextArrayField({ description: 'Words to find it by.', maxItems: 20, maxLength: 50 })
 * readonly tags!: readonly string[];
 */
export function TextArrayField({
  maxItems,
  maxLength,
  ...options
}: TextArrayOptions): PropertyDecorator {
  const isText = (value: unknown) =>
    typeof value === 'string' && isStorableText(value) && isWithin(value, 0, maxLength);
  return ColumnField(
    options,
    {
      schema: { type: 'array', items: { ...TEXT_SCHEMA, maxLength }, maxItems },
      column: { type: 'text', array: true },
    },
    Satisfies(
      'isTextArray',
      (value) => Array.isArray(value) && value.length <= maxItems && value.every(isText),
      `$property must be an array of at most ${maxItems} texts, each of at most ${maxLength} characters and without U+0000 or unpaired surrogates`,
    ),
  );
}
