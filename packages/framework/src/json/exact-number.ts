/** Digits of numbers that are written without an exponent. A double has up to 309. */
const MAX_PLAIN = 400;

/** Smaller doubles have less precision. */
export const SMALLEST = 1e-307;

/** A number that a double cannot represent. Equal numbers are deeply equal, in any notation. */
export class ExactNumber {
  /** @param decimal the digits without leading and trailing zeros, `e`, and the power of ten: `-12e400` */
  constructor(readonly decimal: string) {}

  /** Rounds the number for code that does not need its digits. */
  toJSON(): number {
    return Number(this.decimal);
  }

  /** Without an exponent unless there are too many digits. */
  toString(): string {
    const [, sign = '', digits = '', exponent] = /^(-?)(\d+)e(-?\d+)$/.exec(this.decimal) ?? [];
    const power = Number(exponent);
    if (exponent === undefined || Math.abs(power) + digits.length > MAX_PLAIN) return this.decimal;
    if (power >= 0) return `${sign}${digits}${'0'.repeat(power)}`;
    const padded = digits.padStart(1 - power, '0');
    return `${sign}${padded.slice(0, power)}.${padded.slice(power)}`;
  }

  /** Called by pg. */
  toPostgres(): string {
    return this.toString();
  }

  /** Whether it would be much longer in a response than in its request. */
  get isLong(): boolean {
    return !/^-?[\d.]+$/.test(this.toString());
  }

  get isFraction(): boolean {
    return this.decimal.includes('e-');
  }
}

/** The normal form of a non-zero number: digits without leading and trailing zeros, `e`, and the power of ten. */
export function decimalOf(literal: string): string {
  const [mantissa = '', exponent = '0'] = literal.split(/[eE]/);
  const [integer = '', fraction = ''] = mantissa.split('.');
  const sign = integer.startsWith('-') ? '-' : '';
  const digits = integer.slice(sign.length) + fraction;
  // No pattern such as /0+$/, which takes quadratic time on a megabyte of zeros.
  let start = 0;
  while (digits[start] === '0') start++;
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  const power = Number(exponent) - fraction.length + (digits.length - end);
  return Number.isSafeInteger(power) ? `${sign}${digits.slice(start, end)}e${power}` : literal;
}
