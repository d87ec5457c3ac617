import { ColumnField } from '../column-field.js';
import type { ColumnFieldOptions } from '../column-field.js';
import type { Kind } from '../kind.js';
import { Satisfies } from '../property.js';

export const BOOLEAN: Kind<boolean> = {
  schema: { type: 'boolean' },
  parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  constraintOf: (name) => `${name} must be true or false`,
};

/**
 * Declares a property of type `boolean`, with a column `boolean`.
 *
 * @example
 * @BooleanField({ description: 'Whether it can be lent.', default: true })
 * readonly isActive!: Defaulted<boolean>;
 */
export function BooleanField(options: ColumnFieldOptions<boolean>): PropertyDecorator {
  return ColumnField(
    options,
    { schema: { type: 'boolean' }, column: { type: 'boolean' }, kind: BOOLEAN },
    Satisfies(
      'isBoolean',
      (value) => typeof value === 'boolean',
      BOOLEAN.constraintOf('$property'),
    ),
  );
}
