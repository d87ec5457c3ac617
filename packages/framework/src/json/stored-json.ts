import { JsonText, parseAllDigits } from './exact-json.js';

/** Code that walks deeper JSON recursively would overflow the stack. */
const MAX_STORED_DEPTH = 500;

/** Parses JSON of PostgreSQL with all digits. JSON that is nested too deeply stays {@link JsonText}. */
export function parseStoredJson(text: string): unknown {
  if (text.length > MAX_STORED_DEPTH && isTooDeep(text)) return new JsonText(text);
  // Most texts have no number that could lose digits.
  return /[\d.]{16}|\d[eE]/.test(text)
    ? parseAllDigits(text, 'body', Infinity)
    : (JSON.parse(text) as unknown);
}

/** A regular expression would overflow the stack of V8 for some megabytes. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === '[' || character === '{') depth++;
    else if (character === ']' || character === '}') depth--;
    if (depth > MAX_STORED_DEPTH) return true;
  }
  return false;
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslash = end;
    while (text[backslash - 1] === '\\') backslash--;
    if ((end - backslash) % 2 === 0) return end;
  }
  return text.length;
}
