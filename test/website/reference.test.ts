import { expect, it } from 'vitest';
import { renderReference } from '../../src/website/reference.js';

const INFO = { title: 'Lists', version: '2.0.0', description: 'Lists of plants.' };

const ERRORS = [
  { number: 40001, message: 'meaning 40001', remedy: 'Use `this`' },
  { number: 40400, message: 'meaning 40400', remedy: 'Check the path' },
];

const NO_ERRORS: typeof ERRORS = [];

/** What the reference says of operations, as text without tags. */
function reference(paths: object, errors = NO_ERRORS): string {
  return textOf(JSON.stringify({ openapi: '3.1.0', info: INFO, paths }), errors);
}

function textOf(document: string, errors = NO_ERRORS): string {
  const { source } = renderReference({ document, version: '3.4.5', errors });
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

it('shows each failure once, and in one place the failures that all operations share', () => {
  const failures = (...numbers: readonly number[]) => ({
    content: {
      'application/json': {
        examples: Object.fromEntries(
          numbers.map((error) => [error, { summary: `meaning ${error}`, value: { error } }]),
        ),
      },
    },
  });
  const operation = (operationId: string, ...numbers: readonly number[]) => ({
    operationId,
    summary: operationId,
    tags: ['lists'],
    responses: { 200: { description: 'It' }, 400: failures(...numbers) },
  });
  const text = reference(
    {
      '/a': { get: operation('a', 40003, 40001) },
      '/b': { get: operation('b', 40001, 40002) },
    },
    ERRORS,
  );
  const common = 'And those of every operation .';
  expect(text).toContain(`Failures Error Meaning What to do 40003 meaning 40003 ${common}`);
  expect(text).toContain(`Failures Error Meaning What to do 40002 meaning 40002 ${common}`);
  expect(text).toContain(
    'Failures of every operation Error Meaning What to do 40001 meaning 40001 Use this',
  );
  expect(text).toContain(
    'Other failures Error Meaning What to do 40400 meaning 40400 Check the path',
  );
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

it('shows bodies of other media types as text', () => {
  const lines = (value: string) => ({
    'application/x-ndjson': { schema: { type: 'string' }, examples: { one: { value } } },
  });
  const text = reference({
    '/lists': {
      post: {
        operationId: 'importLists',
        summary: 'Import lists',
        requestBody: { description: 'Lists in lines.', content: lines('{"id":1}\n{"id":2}\n') },
        responses: { 200: { description: 'Has `created`.', content: lines('{"created":2}\n') } },
      },
    },
  });
  expect(text).toContain('Body application/x-ndjson Lists in lines.');
  expect(text).toContain('Response 200 application/x-ndjson Has created .');
  expect(text).toContain('--data-binary &#39;{&quot;id&quot;:1} {&quot;id&quot;:2} &#39;');
  expect(text).toContain('Response 200 {&quot;created&quot;:2}');
});

it('has the parts of a description below their headings, and defines each schema once', () => {
  const document = {
    openapi: '3.1.0',
    info: { ...INFO, description: 'Lists.\n\n## How to ask\n\nFor a List.\n' },
    paths: {
      '/a': {
        get: {
          operationId: 'a',
          summary: 'A',
          parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer', default: 50 } }],
          responses: {
            200: {
              description: 'It is a List.',
              content: {
                'application/json': {
                  schema: { type: 'array', items: { $ref: '#/components/schemas/List' } },
                },
              },
            },
          },
        },
      },
    },
    components: {
      schemas: {
        List: {
          type: 'object',
          properties: { size: { type: 'integer', description: 'How long it is.' } },
        },
      },
    },
  };
  const { source } = renderReference({
    document: JSON.stringify(document),
    version: '1.0.0',
    errors: [],
  });
  expect(source).toContain('<h2 id="how-to-ask">How to ask</h2>');
  expect(source).toContain('<a href="#how-to-ask">How to ask</a>');
  expect(source).toContain('<h3 id="schema-List">List</h3>');
  expect(source).toContain('It is a <a href="#schema-List">List</a>.');
  expect(source).toContain('For a <a href="#schema-List">List</a>.');
  expect(source.split('How long it is.')).toHaveLength(2);
  expect(source).toContain('default <code>50</code>');
});
