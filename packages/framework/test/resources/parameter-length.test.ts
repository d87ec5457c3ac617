import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parameterLength } from '../../src/resources/properties/parameter-length.js';

describe('the length of a parameter', () => {
  it.each([
    ['a text', 'aé', 2],
    ['bytes', Buffer.from('aé'), 3],
    ['nothing', null, 0],
    ['what is absent', undefined, 0],
    ['a number', 2.5, 3],
    ['no number', NaN, 3],
    ['an infinite number', -Infinity, 9],
    ['an exact integer', 2n ** 64n, 20],
    ['a time', new Date(0), 26],
    ['an object', { a: [1, null] }, 14],
    ['an object without JSON', { toJSON: () => undefined }, 0],
    ['an array of texts', ['ab', '', null], 5],
    ['an array of arrays', [[1n], [22n, 'x']], 9],
    ['an empty array', [], 0],
  ])('counts %s', (_, parameter, length) => {
    expect(parameterLength(parameter)).toBe(length);
  });

  it('is an exact integer, whatever the parameter is', () => {
    const parameter = fc.anything({ withBigInt: false, withDate: true, withTypedArray: true });
    fc.assert(
      fc.property(fc.oneof(parameter, fc.array(parameter), fc.bigInt()), (value) => {
        const length = parameterLength(value);
        expect(Number.isSafeInteger(length) && length >= 0).toBe(true);
      }),
    );
  });
});
