export type TextConversion = (text: string) => string;

/**
 * What spreadsheets take for a formula: a text that begins with `=`, `+`, `-` or `@`, perhaps after white space, or with a
 * control character (OWASP, "CSV Injection"). Also such a text after apostrophes, so that {@link unescapeFormula} returns
 * every text that {@link escapeFormula} was given.
 */
const FORMULA = /^'*(?:\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/;

export function isFormula(text: string): boolean {
  return FORMULA.test(text) && !text.startsWith("'");
}

/** Puts an apostrophe before a formula, which makes it a text in a spreadsheet. */
export function escapeFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

export function unescapeFormula(text: string): string {
  return text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text;
}
