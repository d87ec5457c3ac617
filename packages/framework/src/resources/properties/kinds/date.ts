import { ColumnField } from '../column-field.js';
import type { ColumnFieldOptions } from '../column-field.js';
import type { Kind } from '../kind.js';
import { Satisfies } from '../property.js';

/* Days of the calendar: `string` in TypeScript, `string` of format `date` in JSON, `date` in PostgreSQL. None has a time zone. */

/** `undefined` for any other text than an existing day of the years 0001 to 9999, as in RFC 3339: `2024-02-29`. */
export function parseDate(text: string): string | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || text.startsWith('0000')) return undefined;
  // `Date` takes 30 February for 1 March.
  const day = new Date(`${text}T00:00:00Z`);
  const exists = !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
  return exists ? text : undefined;
}

const DATE: Kind<string> = {
  schema: { type: 'string', format: 'date' },
  parse: parseDate,
  constraintOf: (name) =>
    `${name} must be an existing day of the years 0001 to 9999, such as 2024-02-29`,
};

/**
 * Declares a day in a property of type `string`, with a column `date`.
 *
 * @example
 * @DateField({ description: 'When it was bought.', isOptional: true })
 * readonly boughtOn!: string | null;
 */
export function DateField(options: ColumnFieldOptions<string>): PropertyDecorator {
  return ColumnField(
    options,
    { schema: { type: 'string', format: 'date' }, column: { type: 'date' }, kind: DATE },
    Satisfies(
      'isDate',
      (value) => typeof value === 'string' && parseDate(value) !== undefined,
      DATE.constraintOf('$property'),
    ),
  );
}
