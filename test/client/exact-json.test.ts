import { expect, it } from 'vitest';
import { parseJson, toJson } from '../../dist-client/dist/plant-store.js';

const MAX = 2n ** 63n - 1n;

it('toJson writes all digits of each id, also inside of other values', () => {
  const plant = { id: MAX, name: 'Aloe "7"', tag: undefined };
  expect(() => JSON.stringify(plant)).toThrow(TypeError);
  expect(toJson({ plants: [plant], total: 1.5 })).toBe(
    '{"plants":[{"id":9223372036854775807,"name":"Aloe \\"7\\""}],"total":1.5}',
  );
  expect(() => toJson(undefined)).toThrow(new TypeError('the value cannot be written as JSON'));
});

it('parseJson reads what toJson writes, and other numbers as JSON.parse does', () => {
  const page = { plants: [{ id: MAX, name: '7' }], total: 1.5 };
  expect(parseJson(toJson(page))).toEqual(page);
  expect(parseJson('{"id":7,"bedId":9007199254740993}', ['bedId'])).toEqual({
    id: 7,
    bedId: 9007199254740993n,
  });
});

it.each(['{"id":7.5}', '{"id":', ''])('parseJson refuses %j', (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});
