import { Field, Satisfies } from './property.js';
import type { PropertyOptions } from './property.js';

interface IntegerOptions extends PropertyOptions<number> {
  readonly minimum: number;
  readonly maximum: number;
}

/**
 * Declares the type, validation and schema of a property of type `number`, of a column `integer` or `smallint`. The bounds must
 * be safe integers within the range of the column.
 */
export function IntegerField(options: IntegerOptions): PropertyDecorator {
  const { minimum, maximum } = options;
  return Field(
    { type: 'integer', ...options },
    Satisfies(
      'isInteger',
      (value) => Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum,
      `$property must be an integer between ${minimum} and ${maximum}`,
    ),
  );
}
