import { isLosslessNumber, parse, stringify } from 'lossless-json';

/** Reads the named members as `bigint`, and all other numbers as `number`. */
export function parseExactJson(text: string, int64: readonly string[]): unknown {
  return parse(text, (key, value) => {
    if (!isLosslessNumber(value)) return value;
    return int64.includes(key) ? BigInt(value.value) : Number(value.value);
  });
}

/** Writes all digits of each `bigint`, for which `JSON.stringify` throws. */
export function stringifyExactJson(value: unknown): string {
  const text = stringify(value);
  if (text === undefined) throw new TypeError('the value cannot be written as JSON');
  return text;
}
