import { expect, it } from 'vitest';
import { resourcesOf } from '../src/resources.js';
import type { OpenApiDocument } from '../src/resources.js';

const BEDS: OpenApiDocument = {
  paths: {
    '/beds': {
      post: {
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/NewBed' } } },
        },
        responses: {},
      },
    },
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
      NewBed: { required: ['id', 'width'] },
      Bed: {
        // The service fills in the last one.
        required: ['id', 'width', 'other'],
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
  const required = beds?.columns.filter(({ isOptional }) => !isOptional);
  expect(required?.map(({ name }) => name)).toEqual(['id', 'width']);
  expect(beds?.example).toBe('{"soil":"sand"}');
});
