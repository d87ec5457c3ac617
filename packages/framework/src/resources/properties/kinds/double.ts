import { parseExactJson } from '../../../json/exact-json.js';
import { ColumnField } from '../column-field.js';
import type { ColumnFieldOptions } from '../column-field.js';
import type { Kind } from '../kind.js';
import { Satisfies } from '../property.js';

/** A number in JSON. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

interface DoubleOptions extends ColumnFieldOptions<number> {
  readonly minimum?: number;
  readonly maximum?: number;
}

/**
 * Declares a property of type `number`, with a column `double precision`, such as for a measurement. A fraction is read as the nearest
 * double, whose digits come back. An integer that no double has is rejected, and so are infinity and numbers nearer to zero than 1e-307.
 * `DecimalField` keeps all digits.
 *
 * @example
 * @DoubleField({ description: 'What it weighs, in kg.', minimum: 0 })
 * readonly weight!: number;
 */
export function DoubleField({ minimum, maximum, ...options }: DoubleOptions): PropertyDecorator {
  const isValid = (value: unknown): value is number =>
    Number.isFinite(value) &&
    Number(value) >= (minimum ?? -Infinity) &&
    Number(value) <= (maximum ?? Infinity);
  const bounds = {
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
  };
  const schema = { type: 'number', format: 'double', ...bounds } as const;
  const range = Object.entries(bounds).map(([name, bound]) => `, ${name} ${bound}`);
  const constraintOf = (name: string) =>
    `${name} must be a number that a double has${range.join('')}`;
  const kind: Kind<number> = {
    schema,
    parse: (text) => {
      const value = NUMBER.test(text) ? parseExactJson(text) : undefined;
      return isValid(value) ? value : undefined;
    },
    constraintOf,
  };
  return ColumnField(
    options,
    { schema, column: { type: 'double precision' }, kind },
    Satisfies('isDouble', isValid, constraintOf('$property')),
  );
}
