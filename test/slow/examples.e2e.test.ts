import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import openapiTypes, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

const run = promisify(execFile);

const ANSWERS = [
  '{"name":"Monstera","tag":"indoor"}',
  '{"name":"Monstera","tag":"indoor"}',
  '{"error":40009,"message":"id 2001 belongs to a plant with other content"}',
  '{"error":40003,"message":"name must be a string"}',
  '{"name":"月下美人"}',
  '{"id":9223372036854775807,"name":"月下美人"}',
  '{"error":40100,"message":"the request needs a bearer token in its Authorization header"}',
];

let service: TestService;
let folder: string;

beforeAll(async () => {
  service = await startTestService();
  folder = await mkdtemp(join(tmpdir(), 'plant-store-examples-'));
});

afterAll(() => Promise.all([service.stop(), rm(folder, { recursive: true, force: true })]));

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, PLANT_STORE_URL: service.url, PLANT_STORE_TOKEN: TOKEN };
}

/** Requests of a `.http` file, as the clients of editors read it. */
function readHttpFile(text: string): { method: string; url: string; init: RequestInit }[] {
  const variables = new Map(
    [...text.matchAll(/^@(\w+) = (.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  variables.set('url', service.url).set('token', TOKEN);
  return text
    .split(/^###.*\n/m)
    .slice(1)
    .map((part) =>
      part.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => variables.get(name) ?? ''),
    )
    .map((part) => {
      const [head = '', body] = part.trim().split('\n\n');
      const [line = '', ...fields] = head.split('\n');
      const [method = '', url = ''] = line.split(' ');
      const headers = fields.map((field): [string, string] => {
        const colon = field.indexOf(':');
        return [field.slice(0, colon), field.slice(colon + 1).trim()];
      });
      return { method, url, init: { method, headers, ...(body !== undefined && { body }) } };
    });
}

describe('the first five minutes', () => {
  it('with curl get the documented answers', async () => {
    const { stdout, stderr } = await run('bash', ['examples/first-plants.sh'], {
      env: environment(),
    });
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toEqual(ANSWERS);
  });

  it('with a .http file get the documented answers, too', async () => {
    const requests = readHttpFile(await readFile('examples/first-plants.http', 'utf8'));
    const answers: string[] = [];
    for (const { url, init } of requests) answers.push(await (await fetch(url, init)).text());
    expect(answers).toEqual(ANSWERS);
  });

  it('use the token of the local stack', async () => {
    const [, token] = /^@token = (.*)$/m.exec(
      await readFile('examples/first-plants.http', 'utf8'),
    ) ?? [''];
    expect(token).toMatch(/^plant-store-local-/);
    expect(await readFile('docker-compose.yml', 'utf8')).toContain(`{AUTH_TOKEN-${token}}`);
  });

  // `npm run types` checks their types.
  it('in TypeScript compile and run', async () => {
    const tsc = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));
    await run(process.execPath, [tsc, '--project', 'examples', '--noCheck', '--outDir', folder]);
    const { stdout } = await run(process.execPath, [join(folder, 'first-plants.js')], {
      env: environment(),
    });
    expect(stdout.split('\n')).toEqual([
      "created { name: 'Monstera', tag: 'indoor' }",
      "created again, as when the response was lost { name: 'Monstera', tag: 'indoor' }",
      "stored { id: 2001, name: 'Monstera', tag: 'indoor' }",
      'refused 40009 id 2001 belongs to a plant with other content',
      '',
    ]);
  });

  it('have the types of the document: run `npm run openapi` when this fails', async () => {
    const types = astToString(await openapiTypes(new URL('../../openapi.json', import.meta.url)));
    expect(await readFile('examples/plant-store.d.ts', 'utf8')).toBe(COMMENT_HEADER + types);
  });
});
