import { parse, stringify } from 'lossless-json';

/** An object of JSON. Integers are `bigint`, so that none is rounded. */
export type Json = Readonly<Record<string, unknown>>;

/** @returns `undefined` if the text is not JSON */
export function parseJson(text: string): unknown {
  try {
    return parse(text, null, (digits) =>
      /^-?\d+$/.test(digits) ? BigInt(digits) : Number(digits),
    );
  } catch {
    return undefined;
  }
}

export function toJson(value: unknown): string {
  return stringify(value) ?? 'null';
}

/** A text that is equal for equal values. A property that is null is absent. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return toJson(value);
  const properties = Object.entries(value)
    .filter(([, each]) => each !== undefined && each !== null)
    .map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`);
  return `{${properties.toSorted().join()}}`;
}

/** The properties with these names. */
export function pick(value: unknown, names: readonly string[]): Json {
  const given = isObject(value) ? value : {};
  return Object.fromEntries(names.map((name) => [name, given[name]]));
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}
