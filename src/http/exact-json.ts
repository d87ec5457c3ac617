import { parse, stringify } from 'lossless-json';
import { PlantStoreError } from '../errors/plant-store.error.js';

/** Deeper nesting is refused: it serves no plant, and parsers recurse. */
const MAX_DEPTH = 64;

/** Digits of the longest integer that is told from other numbers: those of an int64. */
const MAX_DIGITS = 19;

/** A number that is no integer of at most 19 digits. */
class OtherNumber {
  constructor(readonly literal: string) {}
}

/**
 * Parses JSON (RFC 8259) without losing a digit. Numbers come out in a form that only
 * {@link toInteger} reads; everything else as from `JSON.parse`.
 *
 * @throws PlantStoreError `malformed-json`, also for nesting deeper than 64 levels and for members
 * that occur twice with different values
 */
export function parseExactJson(text: string): unknown {
  if (depthOf(text) > MAX_DEPTH) {
    throw new PlantStoreError(
      'malformed-json',
      `the body is nested deeper than ${MAX_DEPTH} levels`,
    );
  }
  try {
    const value: unknown = JSON.parse(text);
    // A text that comes back unchanged has lost no digit and no duplicate member. The library, which
    // is exact but some fifty times slower on long texts, reads what is written in any other way.
    return JSON.stringify(value) === text
      ? value
      : parse(text, undefined, { parseNumber, onDuplicateKey });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new PlantStoreError('malformed-json', undefined, { cause: error });
  }
}

/**
 * The integer that a number out of {@link parseExactJson} stands for, however it is written (`7`,
 * `7.0`, `7e0`, `0.7E+1`). `undefined` for anything else, and for more than 19 digits.
 */
export function toInteger(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  // A plain number survived the round trip above, so its shortest form is what was sent.
  return typeof value === 'number' ? integerOf(String(value)) : undefined;
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

function parseNumber(literal: string): bigint | OtherNumber {
  return integerOf(literal) ?? new OtherNumber(literal);
}

function onDuplicateKey(): never {
  throw new PlantStoreError('malformed-json', 'a member occurs twice, with different values');
}

function integerOf(literal: string): bigint | undefined {
  const [, sign, whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  const digits = whole + fraction;
  const start = firstNonZero(digits);
  if (start === digits.length) return 0n;
  const end = lastNonZero(digits) + 1;
  // The value is digits[start, end) × 10^exponent, so an integer unless the exponent is negative.
  const exponent = Number(power) - fraction.length + (digits.length - end);
  if (exponent < 0 || end - start + exponent > MAX_DIGITS) return undefined;
  return BigInt(`${sign}${digits.slice(start, end)}${'0'.repeat(exponent)}`);
}

/* Loops, because a pattern such as /0+$/ takes quadratic time on a megabyte of zeros. */

function firstNonZero(digits: string): number {
  let index = 0;
  while (digits[index] === '0') index++;
  return index;
}

function lastNonZero(digits: string): number {
  let index = digits.length - 1;
  while (digits[index] === '0') index--;
  return index;
}

/** How deep a JSON text nests, or a greater number; some number for a text that is not JSON. */
function depthOf(text: string): number {
  if (!hasMoreBrackets(text, MAX_DEPTH)) return MAX_DEPTH;
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (inString) {
      if (character === '\\') index++;
      else if (character === '"') inString = false;
    } else if (character === '"') {
      inString = true;
    } else if (character === '{' || character === '[') {
      deepest = Math.max(deepest, ++depth);
    } else if (character === '}' || character === ']') {
      depth--;
    }
  }
  return deepest;
}

/** Whether a text has more than so many opening brackets. */
function hasMoreBrackets(text: string, count: number): boolean {
  let left = count;
  for (const bracket of '{[') {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (--left < 0) return true;
    }
  }
  return false;
}
