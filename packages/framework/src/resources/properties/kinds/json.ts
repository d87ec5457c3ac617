import type { ExactNumber } from '../../../json/exact-number.js';
import { stringifyExactJson } from '../../../json/exact-json.js';
import { ColumnField } from '../column-field.js';
import type { ColumnFieldOptions } from '../column-field.js';
import { Satisfies } from '../property.js';
import { reasonAgainst } from '../storable.js';

/** A value in JSON. A number that a double does not have is an `ExactNumber`. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | ExactNumber
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

interface JsonOptions extends ColumnFieldOptions<JsonValue> {
  /** Of the JSON without white space, in UTF-8; by default 64 KiB. */
  readonly maxBytes?: number;
}

/**
 * Declares a property with any JSON but null, of type `JsonValue`, with a column `jsonb`. Numbers keep all digits. The JSON is nested as
 * deeply as a body can be.
 *
 * @example
 * @JsonField({ description: 'What its maker says of it.', maxBytes: 4_096 })
 * readonly specs!: JsonValue;
 */
export function JsonField({ maxBytes = 65_536, ...options }: JsonOptions): PropertyDecorator {
  return ColumnField(
    options,
    // Any JSON: Nest would add a type to a schema without one.
    { schema: { anyOf: [{}] }, column: { type: 'jsonb' } },
    Satisfies(
      'isJson',
      (value) => whyNotJson(value, maxBytes) === undefined,
      ({ value }) => `$property ${whyNotJson(value, maxBytes)}`,
    ),
  );
}

function whyNotJson(value: unknown, maxBytes: number): string | undefined {
  if (value === null || value === undefined) return 'must not be null';
  const why = reasonAgainst(value);
  if (why !== undefined) return why;
  const isLong = Buffer.byteLength(stringifyExactJson(value)) > maxBytes;
  return isLong ? `must have at most ${maxBytes} bytes` : undefined;
}
