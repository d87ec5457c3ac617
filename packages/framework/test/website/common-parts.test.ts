import type { OpenAPIObject } from '@nestjs/swagger';
import { expect, it } from 'vitest';
import { withCommonParts } from '../../src/openapi/common-parts.js';

const document: OpenAPIObject = {
  openapi: '3.1.0',
  info: { title: 'Lists', version: '1.0.0' },
  paths: {
    '/lists': {
      post: {
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/NewList' } } },
        },
        responses: {
          200: {
            description: 'A list',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/List' } } },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      Item: { type: 'object', properties: { list: { $ref: '#/components/schemas/List' } } },
      List: { type: 'object', properties: { item: { $ref: '#/components/schemas/Item' } } },
      NewItem: { type: 'object' },
      NewList: {
        type: 'object',
        properties: { item: { $ref: '#/components/schemas/NewItem' } },
      },
    },
  },
};

it('allows new members in nested schemas of answers, and in none of a request', () => {
  const original = structuredClone(document);
  expect(withCommonParts(document).components?.schemas).toMatchObject({
    Item: { additionalProperties: true },
    List: { additionalProperties: true },
    NewItem: expect.not.objectContaining({ additionalProperties: true }),
    NewList: expect.not.objectContaining({ additionalProperties: true }),
  });
  expect(document).toEqual(original);
});
