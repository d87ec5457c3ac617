import { nameOf } from '@resource-service/client/document';
import type { OpenApiDocument, Schema } from '@resource-service/client/document';
import type { Random } from './random.js';

/** What the client does not read of a schema. */
interface ValueSchema extends Schema {
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Longer texts show nothing more. */
const TEXT_LENGTH = 16;

/** Above it, JavaScript rounds integers. */
const LARGE = 2 ** 53;

/** Beyond these, `examples` of schemas are nested too deep. */
const DEPTH = 6;

/** The properties of an object, also of the parts of an `allOf`. */
export function propertiesOf(
  document: OpenApiDocument,
  schema: Schema | undefined,
): Readonly<Record<string, Schema>> {
  if (schema === undefined) return {};
  const whole = wholeOf(document, schema);
  const parts = (whole.allOf ?? []).map((part) => propertiesOf(document, part));
  return Object.assign({}, ...parts, whole.properties) as Readonly<Record<string, Schema>>;
}

export function requiredOf(document: OpenApiDocument, schema: Schema): readonly string[] {
  const { required = [], allOf = [] } = wholeOf(document, schema);
  return [...required, ...allOf.flatMap((part) => requiredOf(document, part))];
}

/** A value that fits the schema, other ones for other calls where it leaves a choice. `undefined` if none can be made up. */
export function valueOf(
  document: OpenApiDocument,
  schema: Schema,
  random: Random,
  depth = 0,
): unknown {
  if (depth > DEPTH) return undefined;
  const whole = wholeOf(document, schema);
  const nested = (part: Schema) => valueOf(document, part, random, depth + 1);
  if (whole.const !== undefined) return whole.const;
  if (whole.enum !== undefined) return random.oneOf(whole.enum.filter((each) => each !== null));
  const { allOf = [], anyOf, oneOf } = whole;
  const [part] = allOf.length === 1 ? allOf : (anyOf ?? oneOf ?? []);
  if (part !== undefined) return nested(part);
  const makers: Readonly<Record<string, () => unknown>> = {
    string: () => textOf(whole, random),
    integer: () => integerOf(whole, random),
    number: () => numberOf(whole, random),
    boolean: () => random.next() < 0.5,
    array: () => itemsOf(whole).map(nested),
  };
  const make = makers[[whole.type].flat().find((type) => type !== 'null') ?? 'object'];
  if (make !== undefined) return make();
  const entries = Object.entries(propertiesOf(document, whole));
  // Any JSON.
  if (whole.type === undefined && entries.length === 0) return { [random.text(4)]: random.text(4) };
  return Object.fromEntries(entries.map(([name, each]) => [name, nested(each)]));
}

function wholeOf(document: OpenApiDocument, schema: Schema): ValueSchema {
  const name = nameOf(schema);
  return name === undefined ? schema : wholeOf(document, document.components.schemas[name] ?? {});
}

function itemsOf({ items, minItems = 0, maxItems = Infinity }: ValueSchema): readonly Schema[] {
  return items === undefined
    ? []
    : Array<Schema>(Math.min(Math.max(minItems, 1), maxItems)).fill(items);
}

function textOf(schema: ValueSchema, random: Random): string | undefined {
  const { format, pattern, minLength = 0, maxLength = Infinity, example } = schema;
  if (format === 'uuid') return random.uuid();
  const time = new Date(Date.UTC(2001, 0, 1) + random.integer(2 ** 31) * 333).toISOString();
  if (format === 'date-time') return time;
  if (format === 'date') return time.slice(0, 10);
  const length = Math.min(Math.max(TEXT_LENGTH, minLength), maxLength);
  const fits = (text: string) => pattern === undefined || new RegExp(pattern, 'u').test(text);
  const text = `${random.text(Math.max(length - 1, 0))}${length > 0 ? random.text(1, 'é月zx') : ''}`;
  if (format === undefined && fits(text)) return text;
  if (typeof example !== 'string') return undefined;
  // The first digit keeps its place within bounds, and zeros at the end of a decimal are not kept.
  const other = () =>
    example
      .replaceAll(/(?<=\d.*)\d/g, () => random.text(1, '123456789'))
      .replaceAll(/[a-z]/g, () => random.text(1))
      .replaceAll(/[A-Z]/g, () => random.text(1).toUpperCase());
  const isKnown = format === undefined || format === 'decimal';
  return (isKnown ? Array.from({ length: 20 }, other) : []).find(fits) ?? example;
}

function integerOf({ format, minimum, maximum }: ValueSchema, random: Random): bigint {
  const limit = format === 'int64' ? 2 ** 62 : 2 ** 31 - 1;
  const low = Math.max(minimum ?? 1, 1, minimum ?? 1);
  const high = Math.min(maximum ?? limit, limit);
  if (high < low) return BigInt(Math.ceil(minimum ?? high));
  const from = high >= 2 * LARGE ? LARGE : low;
  return BigInt(Math.floor(from)) + BigInt(random.integer(Math.min(high - from + 1, LARGE)));
}

/** With a fraction that a double has exactly. */
function numberOf({ minimum, maximum }: ValueSchema, random: Random): number {
  const low = minimum ?? Math.min(1, maximum ?? 1);
  const high = Math.min(maximum ?? Infinity, low + 1_000);
  return low + Math.floor((high - low) * random.next() * 4) / 4;
}
