import { isLosslessNumber, parse, stringify } from 'lossless-json';

const INTEGER = /^-?\d+$/;

/**
 * Reads JSON with all digits: `JSON.parse` rounds ids above 2^53.
 *
 * @param int64 the properties that become `bigint`. All other numbers become `number`
 * @returns what the text says, which is not checked
 * @throws SyntaxError if the text is not JSON, or such a property of the object, or of one in the array, is not an integer
 */
export function parseJson(text: string, int64: readonly string[]): unknown {
  const parsed = parse(text, (key, value) => {
    if (!isLosslessNumber(value)) return value;
    const isInt64 = int64.includes(key) && INTEGER.test(value.value);
    return isInt64 ? BigInt(value.value) : Number(value.value);
  });
  for (const row of [parsed].flat()) requireIntegers(row, int64);
  return parsed;
}

/** Within a row, any JSON can have such a name. */
function requireIntegers(row: unknown, int64: readonly string[]): void {
  if (typeof row !== 'object' || row === null) return;
  const values = row as Readonly<Record<string, unknown>>;
  const wrong = int64.find((name) => typeof values[name] === 'number');
  if (wrong !== undefined) throw new SyntaxError(`${wrong} is not an integer`);
}

/** Writes JSON with all digits of each `bigint`, for which `JSON.stringify` throws. */
export function toJson(value: unknown): string {
  const text = stringify(value);
  if (text === undefined) throw new TypeError('the value cannot be written as JSON');
  return text;
}
