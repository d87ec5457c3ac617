import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERROR_TABLE } from '../src/errors/error-table.js';
import type { ErrorDefinition } from '../src/errors/error-table.js';
import { startTestService } from './support/test-service.js';
import type { TestService } from './support/test-service.js';

interface Response {
  readonly description: string;
  readonly headers?: Record<string, unknown>;
  readonly content: {
    readonly 'application/json': {
      readonly schema: { readonly $ref: string };
      readonly examples: Record<string, { readonly value: { error: number; message: string } }>;
    };
  };
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: unknown;
  readonly responses: Record<string, Response>;
}

interface Document {
  readonly openapi: string;
  readonly info: Record<string, unknown>;
  readonly servers: unknown;
  readonly security: unknown;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Record<string, unknown>> };
}

const ERRORS: readonly ErrorDefinition[] = Object.values(ERROR_TABLE);

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

describe('the document', () => {
  it('is the committed one: run `npm run openapi` when this fails', async () => {
    expect(text).toBe(await readFile('openapi.json', 'utf8'));
  });

  it('says what the interface is', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info).toMatchObject({
      title: 'Plant Store',
      version: '1.0.0',
      license: { name: 'MIT' },
      description: expect.stringContaining('bearer token'),
    });
    expect(document.servers).toEqual([{ url: '/' }]);
  });

  it('asks for the bearer token in every operation', () => {
    expect(document.security).toEqual([{ bearerAuth: [] }]);
    for (const [, operation] of operations()) expect(operation.security).toBeUndefined();
  });

  it('has the operations that the service has', () => {
    expect(operations().map(([name]) => name)).toEqual(['post /plants', 'get /plants/{id}']);
  });

  it('has the limits of ids digit for digit', () => {
    expect(text.match(/"maximum": 9223372036854775807,/g)).toHaveLength(3);
    expect(text.match(/"minimum": -9223372036854775808,/g)).toHaveLength(3);
  });

  it('lists every error number with its status and meaning', () => {
    for (const { number, status, message } of ERRORS) {
      expect(document.info['description']).toContain(`| ${number} | ${status} | ${message} |`);
    }
  });

  it('shows under each status the errors that the table has for it', () => {
    for (const [, { responses }] of operations()) {
      for (const [status, response] of Object.entries(responses)) {
        if (status === '200') continue;
        const { schema, examples } = response.content['application/json'];
        expect(schema).toEqual({ $ref: '#/components/schemas/Error' });
        expect(Object.keys(examples).length).toBeGreaterThan(0);
        for (const [code, { value }] of Object.entries(examples)) {
          const definition: ErrorDefinition = ERROR_TABLE[code as keyof typeof ERROR_TABLE];
          expect(definition.status).toBe(Number(status));
          expect(value).toEqual({ error: definition.number, message: definition.message });
          expect(response.description).toContain(`${definition.number}: ${definition.message}`);
          for (const name of Object.keys(definition.headers ?? {})) {
            expect(response.headers).toHaveProperty(name);
          }
        }
      }
    }
  });
});

describe('the error table', () => {
  it('has numbers that are int32, tell the status and are used once', () => {
    for (const { number, status } of ERRORS) {
      expect(Number.isInteger(number) && number < 2 ** 31).toBe(true);
      expect(Math.floor(number / 100)).toBe(status);
    }
    expect(new Set(ERRORS.map(({ number }) => number)).size).toBe(ERRORS.length);
  });

  it('is the one in the README', async () => {
    // Squeezed, because the formatter pads tables.
    const readme = (await readFile('README.md', 'utf8')).replaceAll(/ +/g, ' ');
    for (const { number, message } of ERRORS)
      expect(readme).toContain(`| ${number} | ${message} |`);
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
      expect(served).not.toHaveProperty('additionalProperties');
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

describe('Swagger UI', () => {
  it('is served with everything it needs from here', async () => {
    const page = await service.request('GET', '/docs', { anonymous: true });
    expect(page.headers.get('content-type')).toContain('text/html');
    const references = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, url]) => url ?? '',
    );
    expect(references.length).toBeGreaterThan(3);
    for (const reference of references) {
      expect(reference).toMatch(/^\.\/docs\//);
      const file = await service.request('GET', reference.slice(1), { anonymous: true });
      expect(file.status).toBe(200);
    }
  });

  it('reads the exact document, not a copy of its own', async () => {
    const script = await service.request('GET', '/docs/swagger-ui-init.js', { anonymous: true });
    expect(script.text).toContain('"swaggerUrl": "/openapi.json"');
    expect(script.text).not.toContain('createPlant');
  });
});
