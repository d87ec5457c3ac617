import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { writeClient } from '../src/generator/write-client.js';
import type { OpenApiDocument } from '../src/generator/write-client.js';

/* JavaScript rounds a number beyond 2^53, and then it is the id of another resource. */

const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const INT64 = { type: 'integer', format: 'int64' };
const UUID = { type: 'string', format: 'uuid' };
const TEXT = { type: 'string' };

function resource(name: string, noun: string, key: object, filters: Record<string, object>) {
  const one = json(reference(noun));
  const queryOf = (schemas: object) =>
    Object.entries(schemas).map(([each, schema]) => ({ name: each, in: 'query', schema }));
  const list = {
    description: 'A list.',
    ...json({ type: 'array', items: reference(noun) }),
  };
  return {
    [`/${name}`]: {
      post: { operationId: `create${noun}`, requestBody: one, responses: { 200: one } },
      get: {
        parameters: queryOf({ ...filters, after: key, ids: { type: 'array', items: key } }),
        responses: { 200: list },
      },
    },
    [`/${name}/{id}`]: {
      parameters: [{ name: 'id', in: 'path', required: true, schema: key }],
      get: { responses: { 200: one } },
      put: { requestBody: one, responses: { 200: one } },
      patch: { requestBody: json(reference(`${noun}Patch`)), responses: { 200: one } },
      delete: { responses: { 204: { description: 'Gone.' } } },
    },
    [`/${name}/export`]: {
      get: {
        parameters: queryOf({ ...filters, after: key }),
        responses: { 200: { content: { 'application/x-ndjson': { schema: TEXT } } } },
      },
    },
  };
}

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Tool Library', version: '1.2.3' },
  paths: {
    ...resource('tools', 'Tool', INT64, { boxId: INT64, shelves: { type: 'array', items: INT64 } }),
    ...resource('loans', 'Loan', UUID, { toolId: INT64 }),
    '/changes': {
      get: {
        parameters: [
          { name: 'after', in: 'query', schema: INT64 },
          { name: 'tool', in: 'query', schema: INT64 },
        ],
        responses: {
          200: {
            content: {
              ...json({ type: 'array', items: reference('Change') }).content,
              'text/event-stream': { schema: TEXT },
            },
          },
        },
      },
    },
    '/changes/latest': { get: { responses: { 200: json({ type: 'object' }) } } },
  },
  components: {
    schemas: {
      Tool: {
        type: 'object',
        properties: {
          id: INT64,
          name: TEXT,
          boxId: INT64,
          weight: { type: 'number' },
          specs: {},
          shelves: { type: 'array', items: INT64 },
          parts: { type: 'array', items: reference('Part') },
          stock: { type: 'object', properties: { note: TEXT }, additionalProperties: INT64 },
          owner: { oneOf: [reference('Owner'), { type: 'null' }] },
          code: { anyOf: [TEXT, INT64] },
          maker: { allOf: [reference('Owner')] },
        },
        required: ['id', 'name'],
      },
      ToolPatch: {
        type: 'object',
        properties: { boxId: { type: ['integer', 'null'], format: 'int64' } },
      },
      // A part may have parts.
      Part: {
        type: 'object',
        properties: { serial: INT64, parts: { type: 'array', items: reference('Part') } },
      },
      Owner: { type: 'object', properties: { number: INT64 } },
      Loan: {
        type: 'object',
        properties: { id: UUID, toolId: INT64, loanedTo: UUID },
        required: ['id'],
      },
      LoanPatch: { type: 'object', properties: { toolId: INT64 } },
      Change: { type: 'object', properties: { position: INT64, tool: reference('Wrapped') } },
      Wrapped: { allOf: [reference('Tool')] },
    },
  },
} as unknown as OpenApiDocument;

type Query = Readonly<Record<string, unknown>>;

/** As JavaScript sees it. */
interface AnyResource {
  create(body: unknown): Promise<unknown>;
  get(id: unknown): Promise<unknown>;
  list(query?: Query): Promise<unknown>;
  all(query?: Query): AsyncIterable<unknown>;
  replace(id: unknown, body: unknown): Promise<unknown>;
  patch(id: unknown, body: unknown): Promise<unknown>;
  remove(id: unknown): Promise<unknown>;
  import(records: readonly unknown[]): { summary(): Promise<unknown> };
  export(query?: Query): AsyncIterable<unknown>;
}

interface AnyFeed {
  all(query?: Query): AsyncIterable<unknown>;
  follow(query?: Query): AsyncIterable<unknown>;
}

interface Client {
  readonly tools: AnyResource;
  readonly loans: AnyResource;
  readonly changes: AnyFeed;
}

const LOAN = '01920000-0000-7000-8000-00000000000a';

let folder: string;
let client: Client;
let int64Properties: Readonly<Record<string, readonly string[]>>;
let requests: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exact-values-'));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  const identity = { name: 'tool-library', title: 'Tool Library', build: { version: '1.2.3' } };
  const source = { identity, document: DOCUMENT, errors: [], license: 'MIT' };
  const errors = [
    { code: 'no-such-path', number: 40400, message: 'there is no such path' },
    { code: 'database-unavailable', number: 50300, message: 'the database is away' },
  ];
  await writeClient({ ...source, errors }, join(folder, 'dist-client'));
  const program = pathToFileURL(join(folder, 'dist-client/dist/tool-library.js'));
  const { ToolLibrary, INT64_PROPERTIES } = (await import(program.href)) as {
    readonly ToolLibrary: new (options: object) => Client;
    readonly INT64_PROPERTIES: typeof int64Properties;
  };
  int64Properties = INT64_PROPERTIES;
  client = new ToolLibrary({
    url: 'http://127.0.0.1:1',
    token: 'secret',
    retries: 0,
    fetch: async (request: Request) => {
      const { pathname, search } = new URL(request.url);
      const body = await request.text();
      requests.push(`${request.method} ${pathname}${search} ${body}`.trim());
      if (request.method === 'DELETE') return new Response(null, { status: 204 });
      if (pathname.endsWith('/import')) {
        return new Response('{"created":1,"unchanged":0,"refused":0}\n\n');
      }
      const isList = request.method === 'GET' && !/\/[\d-][^/]*$/.test(pathname);
      return new Response(pathname.endsWith('/export') ? '\n' : isList ? '[]' : '{}');
    },
  });
});

beforeEach(() => {
  requests = [];
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** Every way to send a 64-bit integer, by what the message calls it. */
const INTEGERS: Readonly<Record<string, readonly [at: string, send: (value: unknown) => unknown]>> =
  {
    get: ['id', (id) => client.tools.get(id)],
    replace: ['id', (id) => client.tools.replace(id, { name: 'Saw' })],
    patch: ['id', (id) => client.tools.patch(id, {})],
    remove: ['id', (id) => client.tools.remove(id)],
    'after of list': ['after', (after) => client.tools.list({ after })],
    'after of all': ['after', (after) => drain(client.tools.all({ after }))],
    'after of export': ['after', (after) => drain(client.tools.export({ after }))],
    ids: ['ids[1]', (id) => client.tools.list({ ids: [7n, id] })],
    'ids that is no list': ['ids[0]', (ids) => client.tools.list({ ids })],
    'a filter': ['boxId', (boxId) => client.tools.list({ boxId })],
    'a filter of several': ['shelves[0]', (shelf) => client.tools.list({ shelves: [shelf] })],
    'a filter of an export': ['boxId', (boxId) => drain(client.tools.export({ boxId }))],
    'a position': ['after', (after) => drain(client.changes.all({ after }))],
    'a filter of a feed': ['tool', (tool) => drain(client.changes.all({ tool }))],
    create: ['id', (id) => client.tools.create({ id, name: 'Saw' })],
    'replace with': ['boxId', (boxId) => client.tools.replace(7n, { name: 'Saw', boxId })],
    'patch with': ['toolId', (toolId) => client.loans.patch(LOAN, { toolId })],
    import: ['id', (id) => client.tools.import([{ id: 7n }, { id }]).summary()],
    'a list in a body': ['shelves[0]', (shelf) => client.tools.create({ shelves: [shelf] })],
    'an object in a body': ['maker.number', (number) => client.tools.create({ maker: { number } })],
    'an object that may be null': [
      'owner.number',
      (number) => client.tools.create({ owner: { number } }),
    ],
    'an object of any properties': ['stock.saw', (saw) => client.tools.create({ stock: { saw } })],
    'an object in a list in an object': [
      'parts[0].parts[1].serial',
      (serial) => client.tools.create({ parts: [{ parts: [{ serial: 1n }, { serial }] }] }),
    ],
    'what toJSON returns': ['id', (id) => client.tools.create({ toJSON: () => ({ id }) })],
  };

const WRONG: readonly (readonly [shown: string, value: unknown])[] = [
  ['9007199254740992', Number('9007199254740993')],
  ['-9007199254740992', Number('-9007199254740993')],
  ['1.5', 1.5],
  ['-0', -0],
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['1e+21', 1e21],
  ['null', null],
  ['of the type string', '7'],
  ['of the type string', ''],
  ['of the type boolean', true],
  ['of the type object', {}],
  ['of the type object', Object(7n)],
];

describe.each(Object.entries(INTEGERS))('an int64 of %s', (_, [at, send]) => {
  it.each(WRONG)('is not sent if it is %s', async (shown, value) => {
    const sent = Promise.resolve().then(() => send(value));
    await expect(sent).rejects.toThrow(
      new TypeError(`${at} must be a bigint or a safe integer, but is ${shown}`),
    );
    expect(requests).toEqual([]);
  });

  it.each([7n, 9007199254740993n, -(2n ** 63n), 0, -7, Number.MAX_SAFE_INTEGER])(
    'is sent with all digits if it is %s',
    async (value) => {
      await send(value);
      expect(requests).toHaveLength(1);
      expect(requests[0]).toMatch(new RegExp(`(?<![\\d-])${value}(?!\\d)`));
    },
  );
});

it.each([
  ['an id', 'id', () => client.tools.get([7n])],
  ['an id of a body', 'id', () => client.tools.create({ id: [7n] })],
])('%s is not a list', async (_, at, send) => {
  await expect(send()).rejects.toThrow(
    new TypeError(`${at} must be a bigint or a safe integer, but is an array`),
  );
});

it('a list that needs no request, and a stream, check their parameters, too', async () => {
  await expect(client.tools.list({ after: 1.5, ids: [] })).rejects.toThrow(TypeError);
  await expect(drain(client.changes.follow({ after: 1.5 }))).rejects.toThrow(TypeError);
  expect(requests).toEqual([]);
});

it('an export by an empty list has nothing, and checks its parameters, too', async () => {
  const signal = AbortSignal.abort(new Error('no longer wanted'));
  await drain(client.tools.export({ shelves: [] }));
  await expect(drain(client.tools.export({ shelves: [], signal }))).rejects.toThrow('no longer');
  await expect(drain(client.tools.export({ shelves: [], after: 1.5 }))).rejects.toThrow(TypeError);
  expect(requests).toEqual([]);
});

it('a number is sent if, and only if, it is a safe integer', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.double(), fc.integer(), fc.maxSafeInteger()), async (id) => {
      requests = [];
      const isSent = await client.tools.remove(id).then(
        () => true,
        (error: unknown) => !(error instanceof TypeError),
      );
      expect(isSent).toBe(Number.isSafeInteger(id) && !Object.is(id, -0));
      expect(requests).toEqual(isSent ? [`DELETE /tools/${id}`] : []);
    }),
  );
});

it('an id that is missing is not sent', async () => {
  await expect(client.tools.remove(undefined)).rejects.toThrow(TypeError);
  await expect(client.loans.remove(undefined)).rejects.toThrow(TypeError);
  expect(requests).toEqual([]);
});

describe('a UUID', () => {
  const ways: Readonly<Record<string, (id: unknown) => unknown>> = {
    get: (id) => client.loans.get(id),
    remove: (id) => client.loans.remove(id),
    after: (after) => client.loans.list({ after }),
    ids: (id) => client.loans.list({ ids: [id] }),
    'a body': (loanedTo) => client.loans.create({ loanedTo }),
  };

  it.each(Object.entries(ways))('of %s is not sent if it is none', async (_, send) => {
    for (const value of [
      '',
      '..',
      'a7',
      `{${LOAN}}`,
      `urn:uuid:${LOAN}`,
      ` ${LOAN}`,
      7n,
      7,
      null,
    ]) {
      const sent = Promise.resolve().then(() => send(value));
      await expect(sent).rejects.toThrow(/^\S+ must be a UUID, but is /);
    }
    expect(requests).toEqual([]);
  });

  it.each(Object.entries(ways))('of %s is sent in either case', async (_, send) => {
    await send(LOAN);
    await send(LOAN.toUpperCase());
    expect(requests).toHaveLength(2);
  });
});

it('what is no 64-bit integer is sent as it is', async () => {
  await client.tools.create({ weight: 1.5, specs: { id: 'x', boxId: 1.5 }, code: 'a7' });
  await client.tools.create({ owner: null, stock: { note: 'few', saw: 7n }, boxId: undefined });
  await client.tools.patch(7n, { boxId: null });
  expect(requests).toEqual([
    'POST /tools {"weight":1.5,"specs":{"id":"x","boxId":1.5},"code":"a7"}',
    'POST /tools {"owner":null,"stock":{"note":"few","saw":7}}',
    'PATCH /tools/7 {"boxId":null}',
  ]);
  await expect(client.tools.create({ code: 1.5 })).rejects.toThrow(TypeError);
});

it('64-bit integers in what a schema consists of are read with all digits', () => {
  expect(int64Properties['changes']).toEqual(
    expect.arrayContaining(['position', 'id', 'boxId', 'number', 'serial']),
  );
});
