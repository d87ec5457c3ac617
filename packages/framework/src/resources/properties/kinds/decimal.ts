import { ColumnField } from '../column-field.js';
import type { ColumnFieldOptions } from '../column-field.js';
import type { Kind } from '../kind.js';
import { Parsed, Satisfies } from '../property.js';

/* Decimal numbers: `string` in TypeScript and JSON, because a number of JavaScript rounds them; `numeric` in PostgreSQL. */

interface DecimalOptions extends ColumnFieldOptions<string> {
  /** The number of digits, at most 1,000. */
  readonly precision: number;
  /** The number of digits after the point. */
  readonly scale: number;
  readonly minimum?: string;
  readonly maximum?: string;
}

/**
 * Declares a decimal number in a property of type `string`, with a column `numeric(precision, scale)`. A value has at most these digits,
 * and is stored and returned with all digits after the point: `"12.5"` becomes `"12.50"`.
 *
 * @example
 * @DecimalField({ description: 'What it costs.', precision: 10, scale: 2, minimum: '0' })
 * readonly price!: string;
 */
export function DecimalField({
  precision,
  scale,
  minimum,
  maximum,
  ...options
}: DecimalOptions): PropertyDecorator {
  const places = precision - scale;
  const whole = places > 0 ? `(0|[1-9]\\d{0,${places - 1}})` : '0';
  const fraction = scale > 0 ? `(\\.\\d{1,${scale}})?` : '';
  const schema = { type: 'string', format: 'decimal', pattern: `^-?${whole}${fraction}$` } as const;
  const pattern = new RegExp(schema.pattern);
  const canonical = (text: string) => {
    const [integer = '', digits = ''] = text.split('.');
    const value = scale > 0 ? `${integer}.${digits.padEnd(scale, '0')}` : integer;
    // PostgreSQL has no negative zero.
    return /[1-9]/.test(value) ? value : value.replace('-', '');
  };
  const unscaled = (text: string) => BigInt(canonical(text).replace('.', ''));
  const isWithin = (text: string) =>
    (minimum === undefined || unscaled(text) >= unscaled(minimum)) &&
    (maximum === undefined || unscaled(text) <= unscaled(maximum));
  const parse = (text: string) =>
    pattern.test(text) && isWithin(text) ? canonical(text) : undefined;
  const bounds = [
    ...(minimum === undefined ? [] : [`at least ${minimum}`]),
    ...(maximum === undefined ? [] : [`at most ${maximum}`]),
  ].map((bound) => `, ${bound}`);
  const constraint = `a decimal number with at most ${places} digits before the point and ${scale} after it${bounds.join('')}`;
  const kind: Kind<string> = {
    schema,
    parse,
    constraintOf: (name) => `${name} must be ${constraint}`,
  };
  return ColumnField(
    options,
    { schema, column: { type: 'numeric', precision, scale }, kind },
    Parsed(parse),
    Satisfies(
      'isDecimal',
      (value) => typeof value === 'string' && parse(value) !== undefined,
      `$property must be a text with ${constraint}`,
    ),
  );
}
