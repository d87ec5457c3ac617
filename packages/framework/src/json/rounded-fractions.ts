import { addMember, ExactNumber, SMALLEST } from './exact-json.js';

/** What code that knows numbers only gets: fractions are rounded, as by `JSON.parse`. */
export function withRoundedFractions(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof ExactNumber) return value.isFraction ? roundedFraction(value) : value;
  if (Array.isArray(value)) return value.map(withRoundedFractions);
  const rounded: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    addMember(rounded, name, withRoundedFractions(member));
  }
  return rounded;
}

/** A fraction that would be rounded to an integer, or to zero, stays what it is. */
function roundedFraction(exact: ExactNumber): number | ExactNumber {
  const number = Number(exact.decimal);
  return Number.isInteger(number) || Math.abs(number) < SMALLEST ? exact : number;
}
