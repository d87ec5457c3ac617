import { isDeepStrictEqual } from 'node:util';
import { ERRORS } from '../errors/common-errors.js';
import { ServiceException } from '../errors/service.exception.js';
import { decimalOf, ExactNumber, SMALLEST } from './exact-number.js';
import { quoteText } from './quote.js';
import { addProperty, withRoundedFractions } from './rounded-fractions.js';

/** Parsers recurse. */
const MAX_DEPTH = 64;

/** Of the longest int64. */
const MAX_DIGITS = 19;

/** Decimal numbers with at most this many digits survive the conversion to a double and back (`DBL_DIG` in C). */
const SAFE_DIGITS = 15;

export type JsonSource = 'body' | 'line';

/**
 * Parses JSON (RFC 8259) in linear time, without losing digits of integers. Returns what `JSON.parse` returns, except
 * that an integer that a double cannot represent, or a number that would be rounded to an integer, becomes an
 * {@link ExactNumber}.
 *
 * @throws ServiceException `malformed-json`, also for nesting deeper than 64 levels and for duplicate fields with
 * different values
 */
export function parseExactJson(text: string, source: JsonSource = 'body'): unknown {
  return withRoundedFractions(parseAllDigits(text, source));
}

/**
 * Like {@link parseExactJson}, without losing digits of fractions: they become an {@link ExactNumber} where a double has other
 * digits.
 */
export function parseAllDigits(
  text: string,
  source: JsonSource = 'body',
  maxDepth = MAX_DEPTH,
): unknown {
  return new Parser(text, source, maxDepth).parse();
}

/**
 * The integer value of a number from {@link parseExactJson}, in any notation (`7`, `7.0`, `7e0`, `0.7E+1`).
 * `undefined` for other values, and for more than 19 digits.
 */
export function toInteger(value: unknown): bigint | undefined {
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  // The shortest decimal form of a double has the digits that were sent. Its exact value may be a different integer.
  const decimal =
    typeof value === 'number'
      ? decimalOf(String(value))
      : value instanceof ExactNumber
        ? value.decimal
        : '';
  const [, sign = '', digits = '', power] = /^(-?)(\d+)e(\d{1,2})$/.exec(decimal) ?? [];
  if (power === undefined || digits.length + Number(power) > MAX_DIGITS) return undefined;
  return BigInt(`${sign}${digits}${'0'.repeat(Number(power))}`);
}

/** JSON that is written as it is. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** Like `JSON.stringify`, with all digits of each `bigint` and {@link ExactNumber}. */
export function stringifyExactJson(value: unknown): string {
  const text = hasExactValue(value) ? write(value) : JSON.stringify(value);
  if (text === undefined) throw new TypeError('the value cannot be written as JSON');
  return text;
}

/** Whether `JSON.stringify` would throw for a `bigint`, or round an {@link ExactNumber}. */
function hasExactValue(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint';
  if (value instanceof ExactNumber || value instanceof JsonText) return true;
  return Object.values(value).some(hasExactValue);
}

function write(value: unknown): string | undefined {
  if (typeof value === 'bigint' || value instanceof ExactNumber) return String(value);
  if (value instanceof JsonText) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if ('toJSON' in value && typeof value.toJSON === 'function') return write(value.toJSON());
  if (Array.isArray(value)) return `[${value.map((item) => write(item) ?? 'null').join(',')}]`;
  const fields = Object.entries(value).flatMap(([name, field]) => {
    const text = write(field);
    return text === undefined ? [] : `${JSON.stringify(name)}:${text}`;
  });
  return `{${fields.join(',')}}`;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

class Parser {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly source: JsonSource,
    private readonly maxDepth: number,
  ) {}

  parse(): unknown {
    const value = this.value(1);
    if (this.at < this.text.length) this.fail();
    return value;
  }

  private value(depth: number): unknown {
    const value = this.bareValue(this.next(), depth);
    this.next();
    return value;
  }

  private bareValue(first: string | undefined, depth: number): unknown {
    if (first === '"') return this.string();
    if (first === '{' || first === '[') {
      if (depth > this.maxDepth) {
        throw this.malformed(`it is nested deeper than ${this.maxDepth} levels`);
      }
      this.at++;
      return first === '{' ? this.object(depth) : this.array(depth);
    }
    if (first === 't' || first === 'f' || first === 'n') {
      const word = this.match(WORD);
      return word === 'null' ? null : word === 'true';
    }
    return numberOf(this.match(NUMBER));
  }

  private object(depth: number): object {
    const object: Record<string, unknown> = {};
    for (let next = this.next(); next !== '}'; next = this.separator('}')) {
      if (next !== '"') this.fail();
      const name = this.string();
      if (this.next() !== ':') this.fail();
      this.at++;
      const value = this.value(depth + 1);
      if (!Object.hasOwn(object, name)) addProperty(object, name, value);
      else if (object[name] !== value && !isEqual(object[name], value)) {
        throw this.malformed(`the member ${quoteText(name)} occurs twice, with different values`);
      }
    }
    this.at++;
    return object;
  }

  private array(depth: number): unknown[] {
    const array: unknown[] = [];
    for (let next = this.next(); next !== ']'; next = this.separator(']')) {
      array.push(this.value(depth + 1));
    }
    this.at++;
    return array;
  }

  /** Skips a comma, or stops at the end of an object or array. Returns the next character. */
  private separator(end: string): string | undefined {
    const character = this.text[this.at];
    if (character === end) return end;
    if (character !== ',') this.fail();
    this.at++;
    const next = this.next();
    if (next === end) this.fail();
    return next;
  }

  private string(): string {
    const { text } = this;
    const start = this.at + 1;
    let isEscaped = false;
    let at = start;
    for (let code = text.charCodeAt(at); code !== 0x22; code = text.charCodeAt(at)) {
      if (code === 0x5c) {
        this.at = at;
        at += this.match(ESCAPE).length;
        isEscaped = true;
      } else if (code >= 0x20) {
        at++;
      } else {
        // A control character, or the end of the text.
        this.at = at;
        this.fail();
      }
    }
    this.at = at + 1;
    return isEscaped
      ? (JSON.parse(text.slice(start - 1, this.at)) as string)
      : text.slice(start, at);
  }

  /** Skips white space. Returns the next character, without consuming it. */
  private next(): string | undefined {
    const { text } = this;
    let { at } = this;
    for (let code = text.charCodeAt(at); code <= 0x20; code = text.charCodeAt(++at)) {
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
    }
    this.at = at;
    return text[at];
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text)) this.fail();
    const match = this.text.slice(this.at, pattern.lastIndex);
    this.at = pattern.lastIndex;
    return match;
  }

  private fail(): never {
    const before = this.text.slice(0, this.at);
    const line = before.split('\n').length;
    const column = this.at - before.lastIndexOf('\n');
    const code = this.text.codePointAt(this.at);
    const found = code === undefined ? 'end' : nameOf(code);
    const place = this.source === 'line' ? `column ${column}` : `line ${line}, column ${column}`;
    throw this.malformed(`unexpected ${found} at ${place}`);
  }

  private malformed(why: string): ServiceException {
    return new ServiceException(
      ERRORS.malformedJson,
      `the ${this.source} is not valid JSON: ${why}`,
    );
  }
}

/** A byte order mark is invisible in most programs. */
function nameOf(code: number): string {
  const character = quoteText(String.fromCodePoint(code));
  return code === 0xfeff ? `byte order mark (${character})` : character;
}

/** Ignores digits of fractions that a double loses: such duplicates are accepted, and the first is used. */
function isEqual(first: unknown, second: unknown): boolean {
  return isDeepStrictEqual(withRoundedFractions(first), withRoundedFractions(second));
}

function numberOf(literal: string): number | ExactNumber {
  const number = Number(literal);
  const size = Math.abs(number);
  if (size >= SMALLEST && size < Infinity) {
    if (literal.length <= SAFE_DIGITS) return number;
    const shortest = String(number);
    if (shortest === literal || decimalOf(shortest) === decimalOf(literal)) return number;
  }
  // Zero in any notation, -0 included.
  else if (size === 0 && !/^[-.0]*[1-9]/.test(literal)) return 0;
  return new ExactNumber(decimalOf(literal));
}

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
