import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClientIdentity, OpenApiDocument } from '../src/generator/write-client.js';
import { writeClient } from '../src/generator/write-client.js';

const IDENTITY: ClientIdentity = {
  name: 'tool-library',
  title: 'Tool Library',
  build: { version: '1.2.3' },
};

const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const INT64 = { type: 'integer', format: 'int64' };
const TEXT = { type: 'string' };

const LINES = { content: { 'application/x-ndjson': { schema: TEXT } } };

/** The usual operations of a resource. */
function resource(name: string, noun: string, id: object) {
  const one = json(reference(noun));
  const parameters = [{ name: 'id', in: 'path', required: true, schema: id }];
  return {
    [`/${name}`]: {
      post: { operationId: `create${noun}`, requestBody: one, responses: { 201: one } },
      get: { responses: { 200: json({ type: 'array', items: reference(noun) }) } },
    },
    [`/${name}/{id}`]: {
      parameters,
      get: { responses: { 200: one } },
      put: { requestBody: one, responses: { 200: one } },
      patch: { requestBody: one, responses: { 200: one } },
    },
    [`/${name}/export`]: { get: { responses: { 200: LINES } } },
  };
}

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Tool Library', version: '1.2.3' },
  paths: {
    ...resource('tools', 'Tool', INT64),
    ...resource('tool-boxes', 'ToolBox', TEXT),
    '/tools/changes': {
      get: {
        responses: {
          200: {
            content: {
              ...json({ type: 'array', items: reference('ToolChange') }).content,
              'text/event-stream': { schema: TEXT },
            },
          },
        },
      },
    },
    '/tools/changes/latest': { get: { responses: { 200: json({ type: 'object' }) } } },
    '/reports/{year}': {
      parameters: [{ name: 'year', in: 'path', required: true, schema: TEXT }],
      put: {
        operationId: 'write-report',
        parameters: [
          { name: 'tag', in: 'query', schema: { type: 'array', items: TEXT } },
          { name: 'ids', in: 'query', explode: false, schema: { type: 'array', items: INT64 } },
        ],
        requestBody: { content: { 'text/csv': { schema: TEXT } } },
        responses: { 200: json({ type: 'object', properties: { size: INT64 } }) },
      },
    },
  },
  components: {
    schemas: {
      Tool: {
        type: 'object',
        properties: { id: INT64, name: TEXT, box: TEXT, state: { ...TEXT, default: 'new' } },
        required: ['id', 'name'],
      },
      ToolBox: {
        type: 'object',
        properties: { id: TEXT, tools: { type: 'array', items: reference('Tool') } },
        required: ['id', 'tools'],
      },
      ToolChange: {
        type: 'object',
        properties: { position: INT64, tool: reference('Tool') },
        required: ['position'],
      },
    },
  },
} as unknown as OpenApiDocument;

const ERRORS = [
  { code: 'no-such-path', number: 40400, message: 'there is no such path' },
  { code: 'database-unavailable', number: 50300, message: 'the database is away' },
];

interface Client {
  readonly tools: {
    get(id: bigint): Promise<unknown>;
    create(tool: object): Promise<unknown>;
  };
  readonly toolBoxes: { get(id: string): Promise<unknown> };
  readonly toolsChanges: { all(): AsyncIterable<unknown> };
  readonly operations: Readonly<Record<string, (input: object) => Promise<unknown>>>;
}

interface Exports {
  readonly ToolLibrary: new (options: object) => Client;
  readonly ToolLibraryError: typeof Error;
  readonly ERRORS: Readonly<Record<string, number>>;
  readonly INT64_PROPERTIES: Readonly<Record<string, readonly string[]>>;
}

describe('the client of a service without a resource of its own class', () => {
  let folder: string;
  let exported: Exports;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tool-library-'));
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    const source = { identity: IDENTITY, document: DOCUMENT, errors: ERRORS, license: 'MIT' };
    await writeClient(source, join(folder, 'dist-client'));
    const program = pathToFileURL(join(folder, 'dist-client/dist/tool-library.js'));
    exported = (await import(program.href)) as Exports;
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** A client whose requests get these answers, and the requests. */
  function clientOf(...answers: readonly [status: number, text: string][]) {
    const requests: string[] = [];
    const options = {
      url: 'http://127.0.0.1:1/api',
      token: 'secret',
      retries: 0,
      fetch: async (request: Request) => {
        const body = await request.text();
        const { pathname, search } = new URL(request.url);
        requests.push(`${request.method} ${pathname}${search} ${body}`.trim());
        const [status, text] = answers[requests.length - 1]!;
        return new Response(text, { status });
      },
    };
    return { requests, client: new exported.ToolLibrary(options) };
  }

  it('is a package with its name and version', async () => {
    const text = await readFile(join(folder, 'dist-client/package.json'), 'utf8');
    expect(JSON.parse(text)).toMatchObject({
      name: '@tool-library/client',
      version: '1.2.3',
      license: 'MIT',
      exports: {
        '.': { default: './dist/tool-library.js' },
        './package.json': './package.json',
      },
    });
    const readme = await readFile(join(folder, 'dist-client/README.md'), 'utf8');
    expect(readme).toContain(
      '- `service.toolBoxes`: a `Resource` with `create`, `get`, `list`, `all`, `replace`, `patch`, `export`\n',
    );
    expect(readme).toContain(`['/node_modules/(?!.*@tool-library/client/)']`);
  });

  it('is packed, with what its users need', async () => {
    const { stdout } = await promisify(execFile)('tar', ['-tzf', 'dist-client/client.tgz'], {
      cwd: folder,
    });
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining(['package/package.json', 'package/dist/tool-library.js']),
    );
    expect(stdout).not.toContain('package/src/');
  });

  it('may leave out a property that has a default', async () => {
    const types = await readFile(join(folder, 'dist-client/dist/openapi.d.ts'), 'utf8');
    expect(types).toMatch(/\bstate\?: string;/);
    expect(types).toMatch(/\bname: string;/);
  });

  it('has a property for each resource and each feed', async () => {
    const id = '9007199254740993';
    const { requests, client } = clientOf(
      [200, `{"id":${id},"name":"Saw"}`],
      [201, `{"id":${id},"name":"Saw"}`],
      [200, `{"id":"a7","tools":[{"id":${id},"name":"Saw"}]}`],
      [200, `[{"position":1,"tool":{"id":${id},"name":"Saw"}}]`],
    );
    const saw = { id: BigInt(id), name: 'Saw' };
    expect(await client.tools.get(saw.id)).toEqual(saw);
    expect(await client.tools.create(saw)).toEqual(saw);
    expect(await client.toolBoxes.get('a7')).toEqual({ id: 'a7', tools: [saw] });
    for await (const change of client.toolsChanges.all()) {
      expect(change).toEqual({ position: 1n, tool: saw });
    }
    expect(requests).toEqual([
      `GET /api/tools/${id}`,
      `POST /api/tools {"id":${id},"name":"Saw"}`,
      'GET /api/tool-boxes/a7',
      'GET /api/tools/changes',
    ]);
    expect(exported.INT64_PROPERTIES).toEqual({
      tools: ['id'],
      'tool-boxes': ['id'],
      'tools/changes': ['position', 'id'],
    });
  });

  it('has a method for each operation of no resource', async () => {
    const { requests, client } = clientOf([200, '{"size":9007199254740993}']);
    const input = { year: '20/6', tag: ['a', 'b'], ids: [1n, 2n], body: 'a;b' };
    expect(await client.operations['write-report']!(input)).toEqual({ size: 9007199254740993n });
    expect(requests).toEqual(['PUT /api/reports/20%2F6?tag=a&tag=b&ids=1,2 a;b']);
  });

  it('has the errors of the service', async () => {
    const { client } = clientOf([404, '{"error":40400,"message":"there is no such path"}']);
    const error: unknown = await client.tools.get(7n).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(exported.ToolLibraryError);
    expect(error).toMatchObject({ name: 'ToolLibraryError', code: exported.ERRORS['noSuchPath'] });
  });
});

it('a client is not written for a resource that the document does not have', async () => {
  const client = { package: 'a', resource: { name: 'saws', className: 'Saws' } };
  const source = { document: DOCUMENT, errors: ERRORS, license: 'MIT' };
  await expect(
    writeClient({ ...source, identity: { ...IDENTITY, client } }, 'nowhere'),
  ).rejects.toThrow('the OpenAPI document has no resource saws');
});

it('a client is not written if an operation has no name', async () => {
  const paths = { ...DOCUMENT.paths, '/reports': { get: { responses: {} } } };
  const source = { identity: IDENTITY, errors: ERRORS, license: 'MIT' };
  const document = { ...DOCUMENT, paths };
  await expect(writeClient({ ...source, document }, 'nowhere')).rejects.toThrow(
    'the OpenAPI document has no operationId for GET /reports',
  );
});
