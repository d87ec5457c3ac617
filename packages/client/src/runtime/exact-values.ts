import type { ExactSchema } from './resource-types.js';
import { OPERATIONS, SCHEMAS } from './generated.js';

export interface Values {
  readonly path?: object;
  readonly query?: object;
  readonly body?: unknown;
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * Rejects values that cannot be sent exactly, whatever their types said: JavaScript has rounded a `number` beyond 2^53 already, so
 * that it names another resource.
 *
 * @param operation such as `GET /tools/{id}`
 * @throws TypeError which names the value
 */
export function checkExact(operation: string, { path, query, body }: Values): void {
  const { path: ids = {}, query: properties = {}, body: schema = {} } = OPERATIONS[operation] ?? {};
  const faults = [
    ...Object.entries(ids).map(([name, id]) => faultOf(id, path?.[name as never], name)),
    faultOf({ properties }, query, ''),
    faultOf(schema, body, ''),
  ];
  const fault = faults.find((each) => each !== undefined);
  if (fault !== undefined) throw new TypeError(fault);
}

/** @param at the path to the value, such as `loan.toolId` */
function faultOf(schema: ExactSchema, given: unknown, at: string): string | undefined {
  const value = jsonValueOf(given);
  const { ref, type, format, anyOf } = schema;
  if (ref !== undefined) return faultOf(SCHEMAS[ref] ?? {}, value, at);
  if (value === null && type?.includes('null')) return undefined;
  if (format === 'int64' && !isExactInteger(value)) {
    return `${at} must be a bigint or a safe integer, but is ${described(value)}`;
  }
  if (format === 'uuid' && !(typeof value === 'string' && UUID.test(value))) {
    return `${at} must be a UUID, but is ${described(value)}`;
  }
  for (const [part, inner, name] of partsOf(schema, value, at)) {
    const fault = faultOf(part, inner, name);
    if (fault !== undefined) return fault;
  }
  if (anyOf === undefined) return undefined;
  const possible = anyOf.filter((each) => each.type?.includes(typeOf(value)) ?? true);
  const faults = (possible.length > 0 ? possible : anyOf).map((each) => faultOf(each, value, at));
  return faults.includes(undefined) ? undefined : faults[0];
}

type Part = readonly [schema: ExactSchema, value: unknown, at: string];

function* partsOf(schema: ExactSchema, value: unknown, at: string): Generator<Part> {
  const { allOf = [], items, properties = {}, others } = schema;
  for (const each of allOf) yield [each, value, at];
  // A single value instead of a list is checked like an item, because it is sent as well.
  if (items) {
    for (const [index, item] of [value].flat().entries()) yield [items, item, `${at}[${index}]`];
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    const declared = Object.hasOwn(properties, name) ? properties[name] : others;
    // What is `undefined` is not sent.
    if (declared && inner !== undefined) {
      yield [declared, inner, at === '' ? name : `${at}.${name}`];
    }
  }
}

/** What JSON has for a value. */
function jsonValueOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value;
}

function isExactInteger(value: unknown): boolean {
  // The integers have no negative zero.
  return typeof value === 'bigint' || (Number.isSafeInteger(value) && !Object.is(value, -0));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'bigint' ? 'number' : typeof value;
}

function described(value: unknown): string {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? 'an array' : `of the type ${typeof value}`;
}
