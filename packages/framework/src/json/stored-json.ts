import { parseAllDigits } from './exact-json.js';
import { JsonText } from './json-text.js';

/** Deeper JSON of the database is not parsed: code that walks it recursively would fail. */
const MAX_STORED_DEPTH = 500;

/** Parses JSON that PostgreSQL has written, with all digits. Where it is nested too deeply, it stays {@link JsonText}. */
export function parseStoredJson(text: string): unknown {
  if (text.length > MAX_STORED_DEPTH && depthOf(text) > MAX_STORED_DEPTH) return new JsonText(text);
  // Most have no number that could lose digits.
  return /[\d.]{16}|\d[eE]/.test(text)
    ? parseAllDigits(text, 'body', Infinity)
    : (JSON.parse(text) as unknown);
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
