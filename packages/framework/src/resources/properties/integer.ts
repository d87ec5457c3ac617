import { Declares } from './kind.js';
import { Field, Satisfies } from './property.js';
import type { PropertyOptions } from './property.js';

interface IntegerOptions extends PropertyOptions<number> {
  readonly minimum: number;
  readonly maximum: number;
}

/**
 * Declares the type, validation and schema of a property of type `number`, of a column `integer` or `smallint`. The bounds must
 * be safe integers within the range of the column.
 *
 * @example
 * @Column('smallint')
 * @IntegerField({ description: 'Shelf of the tool.', minimum: 1, maximum: 500 })
 * readonly shelf!: number;
 */
export function IntegerField(options: IntegerOptions): PropertyDecorator {
  const { minimum, maximum } = options;
  const isValid = (value: unknown): value is number =>
    Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum;
  const constraintOf = (name: string) =>
    `${name} must be an integer between ${minimum} and ${maximum}`;
  const parse = (text: string) => {
    const value = /^(0|-?[1-9]\d*)$/.test(text) ? Number(text) : undefined;
    return isValid(value) ? value : undefined;
  };
  return Field(
    { type: 'integer', ...options },
    Satisfies('isInteger', isValid, constraintOf('$property')),
    Declares({ kind: { schema: { type: 'integer', minimum, maximum }, parse, constraintOf } }),
  );
}
