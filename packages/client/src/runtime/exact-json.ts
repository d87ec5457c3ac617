import { isLosslessNumber, parse, stringify } from 'lossless-json';

/**
 * Reads JSON with all digits: `JSON.parse` rounds ids above 2^53.
 *
 * @param int64 the properties that become `bigint`. All other numbers become `number`
 * @returns what the text says, which is not checked
 * @throws SyntaxError if the text is not JSON, or such a property is not an integer
 */
export function parseJson(text: string, int64: readonly string[]): unknown {
  return parse(text, (key, value) => {
    if (!isLosslessNumber(value)) return value;
    return int64.includes(key) ? BigInt(value.value) : Number(value.value);
  });
}

/** Writes JSON with all digits of each `bigint`, for which `JSON.stringify` throws. */
export function toJson(value: unknown): string {
  const text = stringify(value);
  if (text === undefined) throw new TypeError('the value cannot be written as JSON');
  return text;
}
