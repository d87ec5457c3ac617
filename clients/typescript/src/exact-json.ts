import { isLosslessNumber, parse, stringify } from 'lossless-json';

/** Reads ids as `bigint`, and all other numbers as `number`. */
export function parseExactJson(text: string): unknown {
  return parse(text, (key, value) => {
    if (!isLosslessNumber(value)) return value;
    return key === 'id' ? BigInt(value.value) : Number(value.value);
  });
}

/** Writes all digits of each `bigint`, for which `JSON.stringify` throws. */
export function stringifyExactJson(value: unknown): string {
  const text = stringify(value);
  if (text === undefined) throw new TypeError('the value cannot be written as JSON');
  return text;
}
