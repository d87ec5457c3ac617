/** The normal form of a non-zero number: digits without leading and trailing zeros, `e`, and the power of ten. */
export function decimalOf(literal: string): string {
  const e = literal.search(/[eE]/);
  const mantissa = e === -1 ? literal : literal.slice(0, e);
  const point = mantissa.indexOf('.');
  const digits = point === -1 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1);
  const sign = digits[0] === '-' ? '-' : '';
  // No pattern such as /0+$/, which takes quadratic time on a megabyte of zeros.
  let start = sign.length;
  while (digits[start] === '0') start++;
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  const fraction = point === -1 ? 0 : mantissa.length - point - 1;
  const power = (e === -1 ? 0 : Number(literal.slice(e + 1))) - fraction + (digits.length - end);
  return Number.isSafeInteger(power) ? `${sign}${digits.slice(start, end)}e${power}` : literal;
}
