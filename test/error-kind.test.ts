import { afterAll, describe, expect, it, vi } from 'vitest';
import '../src/features.js';
import { allErrors, defineErrors } from '../src/errors/error-kind.js';

// The next file in this worker loads the modules again, without the errors that this file defines.
vi.hoisted(() => vi.resetModules());
afterAll(() => vi.resetModules());

const NAMES = { message: 'the hedge is too high', remedy: 'Cut it' };

describe('the errors of a feature', () => {
  it('have a number for each failure, in the range of the feature, and a code after its name', () => {
    const { hedgeTooHigh } = defineErrors([90, 99], { hedgeTooHigh: { number: 40990, ...NAMES } });
    expect(hedgeTooHigh).toEqual({ code: 'hedge-too-high', number: 40990, ...NAMES });
    expect(allErrors()).toContain(hedgeTooHigh);
  });

  it.each([
    ['a number of another feature', 40091, '40091 is hedge-too-low'],
    ['a number outside its range', 40089, 'no status × 100 + 90 to 99'],
    ['a number that is no failure of HTTP', 30090, 'no status × 100 + 90 to 99'],
    ['a status that does not exist', 60090, 'no status × 100 + 90 to 99'],
  ])('cannot have %s', (_, number, why) => {
    if (number === 40091) defineErrors([90, 99], { hedgeTooLow: { number, ...NAMES } });
    expect(() => defineErrors([90, 99], { hedgeTooWide: { number, ...NAMES } })).toThrow(why);
  });

  it('come in the order of their numbers, which are int32', () => {
    const numbers = allErrors().map(({ number }) => number);
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    for (const number of numbers) expect(number).toBe(number | 0);
  });
});
