import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allErrors, statusOf } from '../../packages/framework/src/errors/error-kind.js';
import { headersOf } from '../../packages/framework/src/http/errors/to-error-response.js';
import { DOCUMENT, EXAMPLE } from '../support/application.js';
import { faultsIn, spectralReports } from '../support/document-lint.js';
import { startTestService } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

interface Response {
  readonly description: string;
  readonly headers: Record<string, unknown>;
  readonly links?: Record<string, Link>;
  readonly content: {
    readonly 'application/json': {
      readonly schema: Reference | { readonly items: Reference };
      readonly examples: Record<string, { readonly value: { error: number; message: string } }>;
    };
  };
}

interface Reference {
  readonly $ref: string;
}

interface Link {
  readonly operationId: string;
  readonly parameters: Record<string, string>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: unknown;
  readonly requestBody?: Pick<Response, 'content'>;
  readonly parameters: readonly Parameter[];
  readonly responses: Record<string, Response>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly type: string; readonly pattern?: string };
}

interface Document {
  readonly openapi: string;
  readonly info: Record<string, unknown>;
  readonly servers: unknown;
  readonly security: unknown;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Record<string, unknown>> };
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

// Defines the errors of the resources.
await import(resolve(EXAMPLE ?? 'src', 'app.module.ts'));
const ERRORS = allErrors();

let service: TestService;
let text: string;
let document: Document;

beforeAll(async () => {
  service = await startTestService();
  text = (await service.request('GET', '/openapi.json', { anonymous: true })).text;
  document = JSON.parse(text) as Document;
});

afterAll(() => service.stop());

function operations(): [string, Operation][] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation] => [
      `${method} ${path}`,
      operation,
    ]),
  );
}

/** The names of the schemas that a schema refers to, at any depth. */
function namesIn(schema: object): string[] {
  const direct = [...JSON.stringify(schema).matchAll(/#\/components\/schemas\/(\w+)/g)];
  return direct.flatMap(([, name = '']) =>
    [name].concat(namesIn(document.components.schemas[name]!)),
  );
}

describe('the document', () => {
  it('is the committed one: run `npm run openapi` when this fails', async () => {
    expect(text).toBe(await readFile(DOCUMENT, 'utf8'));
  });

  it('says what the interface is', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info).toMatchObject({
      title: 'Plant Store',
      version: '1.0.0',
      license: { name: 'MIT', identifier: 'MIT' },
      description: expect.stringContaining('Every request needs a bearer token'),
    });
    expect(document.servers).toEqual([
      { url: '/', description: 'Relative to the address of this document' },
    ]);
  });

  it('has texts without HTML, and no address that needs the host it came from', () => {
    expect(text).not.toMatch(/<\w+>/);
    expect(text).not.toMatch(/\]\(|"(?:externalDocs|contact)"/);
  });

  it('asks for the bearer token in every operation, and may answer each with an Error', () => {
    expect(document.security).toEqual([{ bearerAuth: [] }]);
    for (const [, { security, responses }] of operations()) {
      expect(security).toBeUndefined();
      expect(responses['default']?.content['application/json']).toEqual({
        schema: { $ref: '#/components/schemas/Error' },
      });
    }
  });

  it('has the limits of ids digit for digit', () => {
    const limits =
      /"format": "int64",\s+"maximum": 9223372036854775807,\s+"minimum": -9223372036854775808,/g;
    expect(text.match(limits)).toHaveLength(text.match(/"int64"/g)?.length ?? NaN);
  });

  it('has the characters that a text of the query must not contain', async () => {
    for (const [name, { parameters }] of operations()) {
      const texts = parameters.filter(
        ({ in: place, schema }) => place === 'query' && schema.type === 'string',
      );
      for (const { name: parameter, schema } of texts) {
        const [method = '', path = ''] = name.split(' ');
        const answer = await service.request(method.toUpperCase(), `${path}?${parameter}=a%00bc`);
        expect(answer.json, `the answer of ${name}`).toMatchObject({ error: 40004 });
        expect('a\0bc', `${parameter} of ${name}`).not.toMatch(new RegExp(schema.pattern ?? ''));
      }
    }
  });

  it('lists every error number with its meaning', () => {
    for (const { number, message } of ERRORS) {
      expect(document.components.schemas['Error']).toHaveProperty(
        'properties.error.description',
        expect.stringContaining(`- ${number}: ${message}`),
      );
    }
  });

  it('has the id of the request in every operation and answer, and the meaning of each header field', async () => {
    const requestId = { headers: { 'X-Request-Id': 'a-request' } };
    for (const [name, { parameters, responses }] of operations()) {
      expect(parameters).toContainEqual(
        expect.objectContaining({ name: 'X-Request-Id', in: 'header', required: false }),
      );
      for (const { headers } of Object.values(responses)) {
        expect(headers).toHaveProperty('X-Request-Id');
        for (const header of Object.values(headers)) {
          expect(header).toHaveProperty('description', expect.stringMatching(/\S/));
        }
      }
      const [method = '', path = ''] = name.split(' ');
      const answer = await service.request(method.toUpperCase(), path, requestId);
      expect(answer.headers.get('X-Request-Id')).toBe('a-request');
    }
  });

  it('allows new members in what is answered, so that generated clients accept them', () => {
    const { schemas } = document.components;
    const schemasOf = (parts: readonly (Pick<Response, 'content'> | undefined)[]) =>
      parts.flatMap((part) => {
        const schema = part?.content?.['application/json']?.schema;
        return schema === undefined ? [] : namesIn(schema);
      });
    const answered = new Set(
      schemasOf(operations().flatMap(([, { responses }]) => Object.values(responses))),
    );
    for (const name of answered) {
      expect(schemas[name], `the schema ${name}`).toHaveProperty('additionalProperties', true);
    }
    for (const name of schemasOf(operations().map(([, { requestBody }]) => requestBody))) {
      if (answered.has(name)) continue;
      expect(schemas[name], `the schema ${name}`).not.toHaveProperty('additionalProperties');
    }
  });

  it('links from the create to the look-up of the created plant', async () => {
    const links = document.paths['/plants']?.['post']?.responses['200']?.links ?? {};
    expect(Object.values(links)).toMatchObject([
      { operationId: 'getPlant', parameters: { id: '$request.body#/id' } },
    ]);
    const created = { id: 5001, name: 'Aloe' };
    await service.post(created);
    expect((await service.request('GET', `/plants/${created.id}`)).json).toEqual(created);
  });

  it.each(['NewPlant', 'Plant', 'StoredPlant'])(
    'has a pattern for the text of %s that matches what the service accepts',
    async (name) => {
      const { properties } = document.components.schemas[name] as {
        properties: Record<'name' | 'tag', { pattern: string }>;
      };
      const pattern = new RegExp(properties.name.pattern, 'u');
      expect(properties.tag.pattern).toBe(properties.name.pattern);
      for (const [plantName, status] of [
        ['', 200],
        ['line\nline\r\n\u0001\u2028🌵', 200],
        ['\0', 400],
        ['Aloe\0', 400],
        ['\0\n', 400],
      ] as const) {
        expect(pattern.test(plantName)).toBe(status === 200);
        const id = 6000 + plantName.length;
        expect((await service.post({ id, name: plantName })).status).toBe(status);
      }
    },
  );

  it('shows under each status the errors that the table has for it', () => {
    for (const [, { responses }] of operations()) {
      for (const [status, response] of Object.entries(responses)) {
        if (!/^[45]/.test(status)) continue;
        const { schema, examples } = response.content['application/json'];
        expect(schema).toEqual({ $ref: '#/components/schemas/Error' });
        expect(Object.keys(examples).length).toBeGreaterThan(0);
        for (const [code, { value }] of Object.entries(examples)) {
          const kind = ERRORS.find((error) => error.code === code)!;
          expect(statusOf(kind.number)).toBe(Number(status));
          expect(value.error).toBe(kind.number);
          const [, meaning = ''] =
            new RegExp(`^(?:- )?${kind.number}: (.*)$`, 'm').exec(response.description) ?? [];
          // An operation may be more exact, as its example is.
          if (!value.message.startsWith(meaning)) expect(meaning).toBe(kind.message);
          expect(meaning).not.toBe('');
          for (const name of Object.keys(headersOf(kind))) {
            expect(response.headers).toHaveProperty(name);
          }
        }
      }
    }
  });

  it('names the media types that the operation accepts, for a body of another type', () => {
    for (const [, { requestBody, responses }] of operations()) {
      const refusal = responses['415'];
      if (refusal === undefined) continue;
      const named = refusal.description.match(/application\/[\w.+-]+/g) ?? [];
      expect(named.toSorted()).toEqual(Object.keys(requestBody!.content).toSorted());
    }
  });
});

describe('tools that read the document', () => {
  it('find it valid by the schema of OpenAPI 3.1', async () => {
    const validator = new Validator();
    expect(await validator.validate(JSON.parse(text) as Record<string, unknown>)).toEqual({
      valid: true,
    });
    expect(validator.version).toBe('3.1');
    expect(await validator.validate({ ...document, info: {} })).toMatchObject({ valid: false });
  });

  it('find nothing against the rules, and no example against its schema', async () => {
    expect(await faultsIn(text)).toEqual([]);
  });

  it('give no error, warning or hint', async () => {
    expect(await spectralReports(text)).toEqual([]);
  });

  it.each([
    ['an address', '"identifier": "MIT"', '"url": "/docs/LICENSE"'],
    ['an operationId', '"operationId": "getPlant"', '"operationId": "createPlant"'],
    ['an example', '"error": 40001', '"error": "40001"'],
  ])('would report %s that is wrong', async (_name, right, wrong) => {
    expect(text).toContain(right);
    expect(await spectralReports(text.replaceAll(right, wrong))).not.toEqual([]);
  });

  it.each([
    ['a body', '"name": "Ficus"', '"name": 7'],
    ['a parameter', '"value": 1001', '"value": "x"'],
    ['a failure', '"error": 40001', '"error": "40001"'],
    ['a member', '"example": 7', '"example": "seven"'],
  ])('would find an example of %s that is wrong', async (_name, right, wrong) => {
    expect(text).toContain(right);
    expect(await faultsIn(text.replace(right, wrong))).toHaveLength(1);
  });
});

describe('the examples', () => {
  const CREATE = ['/plants', 'post'] as const;
  const PATCH = ['/plants/{id}', 'patch'] as const;
  const GET = ['/plants/{id}', 'get'] as const;
  const PLAIN = { 'Content-Type': 'text/plain' };
  const wrongToken = { headers: { Authorization: 'Bearer x' } };
  const wrongPatch = { headers: JSON_TYPE, body: '{"id":1}' };

  it.each<[string, () => Promise<Answer>, readonly [path: string, method: string]]>([
    ['malformed-json', () => service.post('{"id":1,"id":2,"name":"a"}'), CREATE],
    ['body-missing', () => service.post(''), CREATE],
    ['body-not-valid', () => service.post({ id: 1 }), CREATE],
    ['body-not-valid', () => service.request('PATCH', '/plants/1001', wrongPatch), PATCH],
    ['id-taken', () => service.post({ id: 1001, name: 'other' }), CREATE],
    ['unsupported-media-type', () => service.post('a', PLAIN), CREATE],
    ['no-credentials', () => service.request('POST', '/plants', { anonymous: true }), CREATE],
    ['token-not-valid', () => service.request('GET', '/plants/7', wrongToken), GET],
    ['parameter-not-valid', () => service.request('GET', '/plants/x'), GET],
    ['no-such-plant', () => service.request('GET', '/plants/404'), GET],
  ])('of the failure %s is what the service answers', async (code, fail, [path, method]) => {
    await service.post({ id: 1001, name: 'Monstera', tag: 'indoor' });
    const answer = await fail();
    const { content } = document.paths[path]![method]!.responses[answer.status]!;
    expect(answer.json).toEqual(content['application/json'].examples[code]?.value);
  });

  it('have one id that JavaScript rounds, with all its digits', () => {
    const examples = [...text.matchAll(/"(?:example|value|id)": (-?\d+)/g)].map(
      ([, digits]) => digits,
    );
    expect(examples.length).toBeGreaterThan(8);
    const rounded = examples.filter((digits) => String(Number(digits)) !== digits);
    expect(new Set(rounded)).toEqual(new Set([String(2n ** 53n + 1n)]));
  });
});

describe('the published interface', () => {
  it('is honoured in every line: the document may add to it, never change it', async () => {
    const contract = JSON.parse(await readFile('contract/plant-store.json', 'utf8')) as Document;
    expect(normalised(document)).toMatchObject(normalised(contract) as Document);
    for (const [name, schema] of Object.entries(contract.components.schemas)) {
      const served = document.components.schemas[name] ?? {};
      const { properties = {} } = schema;
      for (const [member, { description }] of Object.entries(
        properties as Record<string, { description: string }>,
      )) {
        expect(served['properties']).toHaveProperty(
          `${member}.description`,
          expect.stringContaining(description),
        );
      }
      expect(Object.keys(served['properties'] ?? {}).toSorted()).toEqual(
        Object.keys(properties as object).toSorted(),
      );
      // JSON Schema allows additional members by default, as the interface does.
      expect(served['additionalProperties'] ?? true).toBe(true);
    }
  });
});

function byName(one: string, other: string): number {
  return one < other ? -1 : 1;
}

/** Without what means nothing: the order of `required`, and what is said besides the published words. */
function normalised(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, member: unknown) => {
      if (key === 'required' && Array.isArray(member)) return member.map(String).toSorted(byName);
      return key === 'description' ? undefined : member;
    }),
  );
}
