import { expect, it } from 'vitest';
import { parseJson, toJson } from '../src/runtime/exact-json.js';

const MAX = 2n ** 63n - 1n;

it('toJson writes all digits of each id, also inside of other values', () => {
  const tool = { id: MAX, name: 'Saw "7"', note: undefined };
  expect(() => JSON.stringify(tool)).toThrow(TypeError);
  expect(toJson({ tools: [tool], total: 1.5 })).toBe(
    '{"tools":[{"id":9223372036854775807,"name":"Saw \\"7\\""}],"total":1.5}',
  );
  expect(() => toJson(undefined)).toThrow(new TypeError('the value cannot be written as JSON'));
});

it('parseJson reads what toJson writes, and other numbers as JSON.parse does', () => {
  const page = { tools: [{ id: MAX, name: '7' }], total: 1.5 };
  expect(parseJson(toJson(page), ['id'])).toEqual(page);
  expect(parseJson('{"id":7,"bedId":9007199254740993}', ['bedId'])).toEqual({
    id: 7,
    bedId: 9007199254740993n,
  });
});

it('parseJson reads any JSON inside of a row, whatever its properties are called', () => {
  const text = '[{"id":7,"specs":{"id":7.5,"ids":[{"id":1e3}]}}]';
  expect(parseJson(text, ['id'])).toEqual([{ id: 7n, specs: { id: 7.5, ids: [{ id: 1_000 }] } }]);
});

it.each(['{"id":7.5}', '[{"id":7},{"id":7e1}]', '{"id":', ''])('parseJson refuses %j', (text) => {
  expect(() => parseJson(text, ['id'])).toThrow(SyntaxError);
});
