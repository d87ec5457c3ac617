import type { OpenAPIObject } from '@nestjs/swagger';
import { expect, it } from 'vitest';
import { descriptionOf } from '../../src/openapi/description.js';

it.each([
  ['no scope', {}, ''],
  [
    'a scope',
    { 'x-required-scope': 'tools:read' },
    ' The token must have the scope of the operation: `tools:read`. Otherwise the request is rejected with 403.',
  ],
])('the description of a document with %s says only what is true', (_, scope, sentence) => {
  const document: OpenAPIObject = {
    openapi: '3.1.0',
    info: { title: 'Tools', version: '1.0.0' },
    paths: { '/tools': { get: { responses: {}, ...scope } } },
  };
  const [, authentication = ''] = descriptionOf(document, 'Tools.').split('## ');
  expect(authentication.split('\n')[2]).toMatch(/^Every request needs a bearer token/);
  expect(authentication.trimEnd().endsWith(sentence)).toBe(true);
  expect(authentication.includes('scope')).toBe(sentence !== '');
});
