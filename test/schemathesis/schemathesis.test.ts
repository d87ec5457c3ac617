import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { OPERATIONS } from '../support/operations.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { BOUND, expectNoDifference, schemathesis } from './run.js';

let service: TestService;
let folder: string;

beforeEach(async () => {
  service = await startTestService();
  folder = await mkdtemp(join(tmpdir(), 'plant-store-schemathesis-'));
});

afterEach(() => Promise.all([service.stop(), rm(folder, { recursive: true, force: true })]));

it.each([1, 2])(
  'finds no answer that differs from the document, with seed %i',
  async (seed) => {
    const { url } = service;
    const run = await schemathesis(
      { url, token: TOKEN },
      folder,
      `${url}/openapi.json`,
      `--seed=${seed}`,
    );
    expectNoDifference(run);
    expect(service.log.filter(({ status }) => status === 500)).toEqual([]);
  },
  BOUND + 30_000,
);

it(
  'would find an answer that differs, of every create',
  async () => {
    const { text } = await service.request('GET', '/openapi.json', { anonymous: true });
    const document = JSON.parse(text) as {
      components: { schemas: Record<string, { required?: string[]; additionalProperties?: true }> };
    };
    // Only schemas of answers allow further members.
    for (const schema of Object.values(document.components.schemas)) {
      if (schema.additionalProperties === true) schema.required?.push('nonsense');
    }
    const file = join(folder, 'openapi.json');
    await writeFile(file, JSON.stringify(document));
    const { url } = service;
    const { exitCode, report } = await schemathesis(
      { url, token: TOKEN },
      folder,
      file,
      '--phases=examples',
    );
    const creates = OPERATIONS.filter(
      ({ method, body }) => method === 'POST' && body !== undefined,
    );
    expect(exitCode).toBe(1);
    const found = report.failures.filter(({ type }) => type === 'JsonSchemaError');
    expect(found.flatMap(({ operations }) => operations)).toEqual(
      expect.arrayContaining(creates.map(({ path }) => `POST ${path}`)),
    );
  },
  BOUND + 30_000,
);
