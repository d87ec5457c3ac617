import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/errors/common-errors.js';
import { allErrors, defineErrors, statusOf } from '../../src/errors/error-kind.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import { toErrorResponse } from '../../src/http/errors/to-error-response.js';

const NAMES = { message: 'the hedge is too high', remedy: 'Cut it' };

const RANGE = [90, 99] as const;

describe('the errors of a resource', () => {
  it('have a number for each failure, in the range of the resource, and a code after its name', () => {
    const { hedgeTooHigh } = defineErrors(RANGE, { hedgeTooHigh: { number: 40990, ...NAMES } });
    const code = 'hedge-too-high';
    expect(hedgeTooHigh).toEqual({ code, number: 40990, isTemporary: false, ...NAMES });
    expect(allErrors()).toContain(hedgeTooHigh);
  });

  it('have longer numbers in a range from 100 on, because 100 ends are soon taken', () => {
    const { wallTooHigh } = defineErrors([100, 199], {
      wallTooHigh: { number: 50_300_100, ...NAMES },
    });
    expect(wallTooHigh).toMatchObject({ number: 50_300_100, isTemporary: true });
    expect(statusOf(wallTooHigh.number)).toBe(503);
    expect(toErrorResponse(new ServiceException(wallTooHigh))).toMatchObject({
      status: 503,
      body: { error: 50_300_100 },
    });
    const short = () => defineErrors([200, 299], { wallTooLow: { number: 40_250, ...NAMES } });
    expect(short).toThrow('no status × 100000 + 200 to 299');
    expect(() => defineErrors([90, 100], {})).toThrow('has short and long numbers');
  });

  it.each([42992, 50392])('are temporary with the status of %i', (number) => {
    const { [`hedge${number}`]: kind } = defineErrors(RANGE, {
      [`hedge${number}`]: { number, ...NAMES },
    });
    expect(kind).toMatchObject({ isTemporary: true });
  });

  it.each([
    ['a number of another resource', 40091, '40091 is hedge-too-low'],
    ['a number outside its range', 40089, 'no status × 100 + 90 to 99'],
    ['a number that is no failure of HTTP', 30090, 'no status × 100 + 90 to 99'],
    ['a status that does not exist', 60090, 'no status × 100 + 90 to 99'],
  ])('cannot have %s', (_, number, why) => {
    if (number === 40091) defineErrors(RANGE, { hedgeTooLow: { number, ...NAMES } });
    expect(() => defineErrors(RANGE, { hedgeTooWide: { number, ...NAMES } })).toThrow(why);
  });

  it('cannot have the code of another one', () => {
    defineErrors(RANGE, { hedgeTooOld: { number: 40097, ...NAMES } });
    const again = () => defineErrors(RANGE, { hedgeTooOld: { number: 40098, ...NAMES } });
    expect(again).toThrow('hedge-too-old is 40097 already');
  });

  it.each([
    [90, 99],
    [70, 90],
    [95, 96],
    [0, 99],
  ])('cannot have the range %i to %i, which overlaps another one', (first, last) => {
    defineErrors(RANGE, {});
    expect(() => defineErrors([first, last], {})).toThrow(`the range ${first} to ${last} overlaps`);
  });

  it('come in the order of their numbers, which are int32', () => {
    const numbers = allErrors().map(({ number }) => number);
    expect(numbers).toEqual(
      expect.arrayContaining(Object.values(ERRORS).map(({ number }) => number)),
    );
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    for (const number of numbers) expect(number).toBe(number | 0);
  });
});
