import { expect, it } from 'vitest';
import document from '../../openapi.json' with { type: 'json' };
import { RESOURCES, resourcesOf } from '../../clients/command/resources.js';
import type { OpenApiDocument } from '../../clients/command/resources.js';

it('plants are read from the document of the service', () => {
  const text = { type: 'text', description: expect.any(String) as string };
  const { properties } = document.components.schemas.StoredPlant;
  const examples = Object.entries(properties).map(([name, { example }]) => [name, example]);
  const plants = RESOURCES.find(({ name }) => name === 'plants');
  expect(plants).toEqual({
    name: 'plants',
    columns: Object.keys(properties).map((name) => ({ name, type: expect.any(String) as string })),
    filters: [
      { name: 'tag', ...text },
      { name: 'name', ...text },
    ],
    example: JSON.stringify(Object.fromEntries(examples)),
  });
  expect(plants?.columns).toEqual(
    expect.arrayContaining([
      { name: 'id', type: 'integer' },
      { name: 'name', type: 'text' },
      { name: 'tag', type: 'text' },
    ]),
  );
  expect(JSON.parse(plants?.example ?? '')).toMatchObject({ id: 7, name: 'Monstera' });
});

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
