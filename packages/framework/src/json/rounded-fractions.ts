import { ExactNumber, SMALLEST } from './exact-number.js';

/** Whether {@link withRoundedFractions} may change a value. */
export function hasFractions(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof ExactNumber) return value.isFraction;
  return Object.values(value).some(hasFractions);
}

/** For code that expects numbers: rounds fractions, as `JSON.parse` does. */
export function withRoundedFractions(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof ExactNumber) return value.isFraction ? roundedFraction(value) : value;
  if (Array.isArray(value)) return value.map(withRoundedFractions);
  const rounded: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    addProperty(rounded, name, withRoundedFractions(field));
  }
  return rounded;
}

/** A fraction that would be rounded to an integer, to zero or to infinity stays exact. */
function roundedFraction(exact: ExactNumber): number | ExactNumber {
  const number = Number(exact.decimal);
  const isHeld = Number.isFinite(number) && !Number.isInteger(number);
  return isHeld && Math.abs(number) >= SMALLEST ? number : exact;
}

/** An assignment to `__proto__` would set the prototype. */
export function addProperty(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true });
}
