import { expect, it } from 'vitest';
import { resourcesOf } from '../src/resources.js';
import type { OpenApiDocument } from '../src/resources.js';

const BEDS: OpenApiDocument = {
  paths: {
    '/beds/import': { post: { responses: {} } },
    '/beds/export': { get: { responses: {} } },
    '/beds/{id}': {
      get: {
        responses: {
          200: {
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Bed' } } },
          },
        },
      },
    },
    '/reports/export': { get: { responses: {} } },
  },
  components: {
    schemas: {
      Bed: {
        properties: {
          id: { type: 'integer' },
          width: { type: ['number', 'null'] },
          isSunny: { type: 'boolean' },
          soil: { $ref: '#/components/schemas/Soil' },
          tools: { type: 'array' },
          size: { type: ['string', 'number'] },
          other: {},
        },
      },
      Soil: { type: 'string', example: 'sand' },
    },
  },
};

it('columns have the types of the schema, and what cannot be imported is no resource', () => {
  const [beds, ...others] = resourcesOf(BEDS);
  expect(others).toEqual([]);
  expect(beds?.columns.map(({ name, type }) => [name, type])).toEqual([
    ['id', 'integer'],
    ['width', 'number'],
    ['isSunny', 'boolean'],
    ['soil', 'text'],
    ['tools', 'json'],
    ['size', 'json'],
    ['other', 'json'],
  ]);
  expect(beds?.example).toBe('{"soil":"sand"}');
});
