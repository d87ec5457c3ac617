import { Declares } from './kind.js';
import type { Kind } from './kind.js';
import { Field, Parsed, Satisfies } from './property.js';
import type { PropertyOptions } from './property.js';

/* Timestamps: `Date` in TypeScript, `string` of format `date-time` in JSON, `timestamptz(3)` in PostgreSQL. */

/** Years 0001 to 9999 in UTC: RFC 3339 has no others, and `Date` writes them with four digits. */
const FIRST = Date.parse('0001-01-01T00:00:00.000Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * RFC 3339, section 5.6, with at most three decimals that are not zero, and without leap seconds, which neither `Date` nor
 * PostgreSQL has.
 */
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,3})0*)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

class UtcParameter {
  constructor(private readonly text: string) {}

  /** Called by pg. */
  toPostgres(): string {
    return this.text;
  }
}

/**
 * The options of a column whose property is a `Date`. pg would write it with the local offset in whole minutes, but before about 1900,
 * many offsets had seconds.
 *
 * @example
 * @CreateDateColumn(TIMESTAMP_COLUMN)
 * @TimestampField({ description: 'When it was lent.' })
 * readonly lentAt!: Filled<Date>;
 */
export const TIMESTAMP_COLUMN = {
  type: 'timestamptz',
  precision: 3,
  transformer: {
    from: (value: Date | null) => value,
    to: (value: Date | null | undefined) => value && new UtcParameter(value.toISOString()),
  },
} as const;

/** Parses a date-time of RFC 3339; `undefined` for any other text, and for a time that a column cannot store exactly. */
export function parseTimestamp(text: string): Date | undefined {
  const [, day, time, decimals = '', offset] = DATE_TIME.exec(text) ?? [];
  if (day === undefined) return undefined;
  // `Date` takes 30 February for 1 March.
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return undefined;
  const moment = new Date(`${day}T${time}.${decimals.padEnd(3, '0')}${offset?.toUpperCase()}`);
  return isTimestamp(moment) ? moment : undefined;
}

function isTimestamp(value: unknown): value is Date {
  return value instanceof Date && value.getTime() >= FIRST && value.getTime() <= LAST;
}

const TIMESTAMP: Kind<Date> = {
  schema: { type: 'string', format: 'date-time' },
  parse: parseTimestamp,
  constraintOf: (name) =>
    `${name} must be an existing date and time with an offset, as in RFC 3339, in the years 0001 to 9999 (UTC), with at most milliseconds, such as 2024-03-01T10:00:00.000Z`,
};

/**
 * Declares the type, validation and schema of a property of type `Date`.
 *
 * @example
 * @Column(TIMESTAMP_COLUMN)
 * @TimestampField({ description: 'When it has to be back.' })
 * readonly due!: Date;
 */
export function TimestampField(options: PropertyOptions<string>): PropertyDecorator {
  const description = `${options.description} At most milliseconds; returned in UTC.`;
  return Field(
    { type: 'string', format: 'date-time', ...options, description },
    Parsed(parseTimestamp),
    Satisfies('isTimestamp', isTimestamp, TIMESTAMP.constraintOf('$property')),
    Declares({ kind: TIMESTAMP }),
  );
}
