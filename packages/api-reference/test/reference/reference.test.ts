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
    'Parameters Name Type Required Rule name string required quietly boolean optional',
  );
  expect(text).toContain('/lists/a%20b');
  expect(text).toContain('-X DELETE');
  expect(text).toContain('Response 204');
  expect(text).toContain('Interface 2.0.0 · Service 3.4.5');
  const absent = ['Headers', 'Failures', 'A failure', 'Next:', 'Schemas', 'undefined'];
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
      "id":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807,"description":"At most 9223372036854775807."}}}}}}`);
  expect(text).toContain(
    'id integer required At most 9223372036854775807. at least -9223372036854775808',
  );
  expect(text).not.toContain('at most 9223372036854775807');
  expect(text).toContain('9007199254740993');
  expect(text).toContain('Later versions may add members.');
  expect(text).toContain('It : id Next: A');
  expect(text).toContain('Link every response The next page X-Request-Id every response');
});

it('shows the scope of an operation that needs one', () => {
  const get = { operationId: 'a', summary: 'A', responses: { 204: {} } };
  const text = reference({ '/a': { get: { ...get, 'x-required-scope': 'lists:read' } } });
  expect(text).toContain('GET /a Scope lists:read Try it');
  expect(reference({ '/a': { get } })).toContain('GET /a Try it');
});
