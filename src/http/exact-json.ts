import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'lossless-json';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { quote } from './quote.js';

/** Deeper nesting is refused: it serves no plant, and parsers recurse. */
const MAX_DEPTH = 64;

/** Digits of the longest integer that is told from other numbers: those of an int64. */
const MAX_DIGITS = 19;

/** Decimal numbers of so many digits survive the way into a double and back (`DBL_DIG` of C). */
const SAFE_DIGITS = 15;

/** Below it, doubles hold fewer digits. */
const SMALLEST = 1e-307;

/** A number that a double cannot hold. Equal numbers are deeply equal, however they were written. */
export class ExactNumber {
  /** @param decimal its digits, without zeros at either end, `e`, and the power of ten: `-12e400` */
  constructor(readonly decimal: string) {}

  /** Rounded, where nobody has asked for its digits. */
  toJSON(): number {
    return Number(this.decimal);
  }
}

/**
 * Parses JSON (RFC 8259) without losing a digit of an integer, in linear time. Gives what `JSON.parse` gives, except
 * that an integer, or a number that would be rounded to one, is an {@link ExactNumber} where JavaScript would not write
 * its value back. White space, the order of members and the notation of numbers and strings make no difference.
 *
 * @throws PlantStoreError `malformed-json`, also for nesting deeper than 64 levels and for members
 * that occur twice with different values
 */
export function parseExactJson(text: string): unknown {
  return new Parser(text).parse();
}

/**
 * The integer that a number out of {@link parseExactJson} stands for, however it was written (`7`,
 * `7.0`, `7e0`, `0.7E+1`). `undefined` for anything else, and for more than 19 digits.
 */
export function toInteger(value: unknown): bigint | undefined {
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  // The shortest form of a double is what was sent; its exact value may be another integer.
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

/** Writes JSON with `bigint`s digit for digit. */
export function stringifyExactJson(value: unknown): string {
  const text = holdsBigInt(value) ? stringify(value) : JSON.stringify(value);
  if (text === undefined) throw new TypeError('there is no JSON for this value');
  return text;
}

/** Which `JSON.stringify` refuses to write. */
function holdsBigInt(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint';
  return Object.values(value).some(holdsBigInt);
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

/** Reads a text from its beginning to its end. */
class Parser {
  private at = 0;

  constructor(private readonly text: string) {}

  parse(): unknown {
    const value = this.value(1);
    if (this.at < this.text.length) this.fail();
    return value;
  }

  /** A value, with the white space around it. */
  private value(depth: number): unknown {
    const value = this.bareValue(this.next(), depth);
    this.next();
    return value;
  }

  private bareValue(first: string | undefined, depth: number): unknown {
    if (first === '"') return this.string();
    if (first === '{' || first === '[') {
      if (depth > MAX_DEPTH) throw malformed(`it is nested deeper than ${MAX_DEPTH} levels`);
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
      if (!Object.hasOwn(object, name)) addMember(object, name, value);
      else if (object[name] !== value && !isDeepStrictEqual(object[name], value)) {
        throw malformed(`the member ${quote(name)} occurs twice, with different values`);
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

  /** What follows a comma, or the end of an object or array. */
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
        // A control character, or the end.
        this.at = at;
        this.fail();
      }
    }
    this.at = at + 1;
    return isEscaped
      ? (JSON.parse(text.slice(start - 1, this.at)) as string)
      : text.slice(start, at);
  }

  /** Skips white space, and looks at what follows. */
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
    const found = code === undefined ? 'end' : quote(String.fromCodePoint(code));
    throw malformed(`unexpected ${found} at line ${line}, column ${column}`);
  }
}

function malformed(why: string): PlantStoreError {
  return new PlantStoreError('malformed-json', `the body is not valid JSON: ${why}`);
}

function addMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  // An assignment would set the prototype.
  else Object.defineProperty(object, name, { value, enumerable: true });
}

function numberOf(literal: string): number | ExactNumber {
  const number = Number(literal);
  const size = Math.abs(number);
  if (size >= SMALLEST && size < Infinity) {
    if (literal.length <= SAFE_DIGITS) return number;
    const shortest = String(number);
    if (shortest === literal || decimalOf(shortest) === decimalOf(literal)) return number;
    // A fraction is rounded, as JSON.parse does; but it never becomes an integer.
    if (!Number.isInteger(number)) return number;
  }
  // Not -0, which is the same number.
  else if (size === 0 && !/^[-.0]*[1-9]/.test(literal)) return 0;
  return new ExactNumber(decimalOf(literal));
}

/** The digits of a number that is not zero, without zeros at either end, `e`, and the power of ten. */
function decimalOf(literal: string): string {
  const e = literal.search(/[eE]/);
  const mantissa = e === -1 ? literal : literal.slice(0, e);
  const point = mantissa.indexOf('.');
  const digits = point === -1 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1);
  const sign = digits[0] === '-' ? '-' : '';
  /* Loops, because a pattern such as /0+$/ takes quadratic time on a megabyte of zeros. */
  let start = sign.length;
  while (digits[start] === '0') start++;
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  const fraction = point === -1 ? 0 : mantissa.length - point - 1;
  const power = (e === -1 ? 0 : Number(literal.slice(e + 1))) - fraction + (digits.length - end);
  return Number.isSafeInteger(power) ? `${sign}${digits.slice(start, end)}e${power}` : literal;
}
