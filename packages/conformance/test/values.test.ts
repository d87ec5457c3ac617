import { describe, expect, it } from 'vitest';
import { Random } from '../src/random.js';
import { valueOf } from '../src/values.js';

const document = {
  paths: {},
  components: { schemas: { Name: { type: 'string', minLength: 1, maxLength: 3 } } },
};

const valuesOf = (schema: object) => {
  const random = new Random(1);
  return Array.from({ length: 50 }, () => valueOf(document, schema, random));
};

describe('the value of a schema', () => {
  it.each([
    ['text', { $ref: '#/components/schemas/Name' }, /^.{1,3}$/u],
    ['text without U+0000', { type: 'string', pattern: String.raw`^[^\x00]*$` }, /^[^\0]{16}$/u],
    ['decimal', { type: 'string', format: 'decimal', example: '12.50' }, /^1[1-9]\.[1-9]{2}$/],
    [
      'text with a pattern',
      { type: 'string', pattern: '^[A-Z]-\\d+$', example: 'A-12' },
      /^[A-Z]-1[1-9]$/,
    ],
    ['UUID', { type: 'string', format: 'uuid' }, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/],
    ['date', { type: ['string', 'null'], format: 'date' }, /^\d{4}-\d\d-\d\d$/],
    ['time', { type: 'string', format: 'date-time' }, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/],
    ['enum', { type: 'string', enum: ['open', 'closed', null] }, /^(open|closed)$/],
  ])('is a %s', (_, schema, pattern) => {
    const values = valuesOf(schema);
    for (const value of values) expect(value).toMatch(pattern);
    expect(new Set(values).size).toBeGreaterThan(1);
  });

  it('is an integer within its bounds, which JavaScript would round if that is possible', () => {
    for (const value of valuesOf({ type: 'integer', minimum: 3, maximum: 9 })) {
      expect(value).toBeGreaterThanOrEqual(3n);
      expect(value).toBeLessThanOrEqual(9n);
    }
    for (const value of valuesOf({ type: 'integer', format: 'int64' })) {
      expect(value).toBeGreaterThan(2n ** 53n - 1n);
      expect(value).toBeLessThan(2n ** 63n);
    }
  });

  it('is a number within its bounds', () => {
    for (const value of valuesOf({ type: 'number', minimum: 0, maximum: 1 })) {
      expect(value).toBeGreaterThanOrEqual(0);
      expect(value).toBeLessThanOrEqual(1);
    }
  });

  it('is an object, a list or any JSON', () => {
    const properties = {
      tags: { type: 'array', items: { type: 'boolean' } },
      more: { anyOf: [{}] },
    };
    const isBoolean = expect.any(Boolean) as boolean;
    for (const value of valuesOf({ type: 'object', properties })) {
      expect(value).toEqual({ tags: [isBoolean], more: expect.any(Object) as object });
    }
  });
});
