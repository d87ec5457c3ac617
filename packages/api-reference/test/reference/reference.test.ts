import { expect, it } from 'vitest';
import { readDocument } from '../../src/reference/document.js';
import { renderReference } from '../../src/reference/reference.js';

const INFO = { title: 'Lists', version: '2.0.0', description: 'Lists of tools.' };

/** What the reference says of operations, as text without tags. */
function reference(paths: object): string {
  return textOf(JSON.stringify({ openapi: '3.1.0', info: INFO, paths }));
}

function textOf(document: string): string {
  const { source } = renderReference(readDocument(document), { version: '3.4.5' });
  return source.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

it('has no empty section for an operation without body, answer, failure or header', () => {
  const text = reference({
    '/lists/{name}': {
      delete: {
        operationId: 'removeList',
        summary: 'Remove a list',
        parameters: [
          {
            name: 'name',
            in: 'path',
            required: true,
            schema: { type: 'string' },
            example: 'a b',
          },
          { name: 'quietly', in: 'query', schema: { type: 'boolean' } },
        ],
        responses: { 204: {} },
      },
    },
  });
  expect(text).toContain(
    'Parameters Name Type Required Constraints name string required example a b quietly boolean optional',
  );
  expect(text).toContain('/lists/a%20b');
  expect(text).toContain('-X DELETE');
  expect(text).toContain('Response 204');
  expect(text).toContain('Interface 2.0.0 · Service 3.4.5');
  const absent = ['Headers', 'Errors', 'An error', 'Next:', 'Schemas', 'undefined'];
  for (const title of absent) {
    expect(text).not.toContain(title);
  }
});

it('shows limits with every digit, and says what refers to another operation', () => {
  const text = textOf(`{"openapi":"3.1.0","info":${JSON.stringify(INFO)},"paths":{"/a":{"get":{
    "operationId":"a","summary":"A","responses":{"200":{"description":"It",
      "content":{"application/json":{"schema":{"$ref":"#/components/schemas/It"},"examples":{"one":{"value":{"id":9007199254740993}}}}},
      "headers":{"Link":{"description":"The next page"},"X-Request-Id":{}},
      "links":{"again":{"operationId":"a"},"elsewhere":{"operationId":"unknown"}}}}}}},
    "components":{"schemas":{"It":{"additionalProperties":true,"required":["id"],"properties":{
      "id":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807,"example":9007199254740993,"description":"At most 9223372036854775807."}}}}}}`);
  expect(text).toContain(
    'id integer required At most 9223372036854775807. at least -9223372036854775808',
  );
  expect(text).not.toContain('at most 9223372036854775807');
  expect(text).toContain('9007199254740993');
  expect(text).toContain('Later versions may add fields.');
  expect(text).toContain('It Name Type Required Constraints id integer required At most');
  expect(text).toContain('at least -9223372036854775808 example 9007199254740993 Next: A');
  expect(text).toContain('Link every response The next page X-Request-Id every response');
});

it('shows the fields of a body where it is used, and what is within them', () => {
  const text = textOf(`{"openapi":"3.1.0","info":${JSON.stringify(INFO)},"paths":{
    "/a":{"post":{"operationId":"a","summary":"A","requestBody":{"content":{"application/json":{
      "schema":{"$ref":"#/components/schemas/It"}}}},"responses":{}}}},
    "components":{"schemas":{
      "It":{"required":["kind"],"properties":{
        "kind":{"type":"string","enum":["old","new"],"example":"old"},
        "name":{"type":"string","minLength":1,"maxLength":80,"description":"At most 80 letters."},
        "owner":{"description":"Whose it is.","allOf":[{"$ref":"#/components/schemas/Owner"}]},
        "parts":{"type":"array","maxItems":5,"items":{"type":"object","properties":{"size":{"type":"integer"}}}}}},
      "Owner":{"type":"object","properties":{"email":{"type":"string","format":"email"}}}}}}`);
  const [body = ''] = /Body .*? Request /.exec(text) ?? [];
  for (const row of [
    'kind string required one of old , new example old ',
    'name string optional At most 80 letters. length at least 1 ',
    'owner Owner optional Whose it is. Fields of Owner Name Type Required Constraints email string (email) optional ',
    'parts array of object optional length at most 5 Fields Name Type Required Constraints size integer optional ',
  ]) {
    expect(body).toContain(row);
  }
});

it('has what all operations have in one place, and in none of them', () => {
  const failure = (error: number) => ({ summary: `failure ${error}`, value: { error } });
  const operation = (operationId: string, ...errors: readonly number[]) => ({
    operationId,
    summary: operationId,
    parameters: [
      { name: 'X-Request-Id', in: 'header', description: 'Identifies it.' },
      { name: `X-${operationId}`, in: 'header' },
    ],
    responses: {
      400: {
        headers: {
          'Retry-After': { description: 'When to retry.' },
          [`ETag-${operationId}`]: {},
        },
        content: {
          'application/json': {
            examples: Object.fromEntries(errors.map((error) => [error, failure(error)])),
          },
        },
      },
    },
  });
  const text = reference({
    '/a': { get: operation('First', 40001, 40003) },
    '/b': { get: operation('Second', 40001, 40002) },
  });
  const isOnce = (words: string) => text.split(` ${words} `).length === 2;
  for (const words of [
    'X-Request-Id optional Identifies it.',
    'Retry-After every response When to retry.',
    '40001 failure 40001',
    'X-First optional',
    'ETag-First',
    '40003 failure 40003',
  ]) {
    expect({ words, isOnce: isOnce(words) }).toEqual({ words, isOnce: true });
  }
});

it('shows the scope of an operation that needs one', () => {
  const get = { operationId: 'a', summary: 'A', responses: { 204: {} } };
  const text = reference({ '/a': { get: { ...get, 'x-required-scope': 'lists:read' } } });
  expect(text).toContain('GET /a Scope lists:read Try it');
  const either = { ...get, 'x-required-scope': ['lists:read', 'lists:approve'] };
  expect(reference({ '/a': { get: either } })).toContain(
    'GET /a Scope lists:read or lists:approve Try it',
  );
  expect(reference({ '/a': { get } })).toContain('GET /a Try it');
});
