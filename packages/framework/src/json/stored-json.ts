import { JsonText, parseAllDigits } from './exact-json.js';

/** Code that walks deeper JSON recursively would overflow the stack. */
const MAX_STORED_DEPTH = 500;

/** Parses JSON of PostgreSQL with all digits. JSON that is nested too deeply stays {@link JsonText}. */
export function parseStoredJson(text: string): unknown {
  // Does not recurse, unlike the parser that keeps all digits.
  const value: unknown = JSON.parse(text);
  if (text.length > MAX_STORED_DEPTH && isTooDeep(value)) return new JsonText(text);
  // Most texts have no number that could lose digits.
  return /[\d.]{16}|\d[eE]/.test(text) ? parseAllDigits(text, 'body', Infinity) : value;
}

function isTooDeep(value: unknown, left = MAX_STORED_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return left === 0 || Object.values(value).some((field) => isTooDeep(field, left - 1));
}
