import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { run } from '../src/command.js';
import { DOCUMENT } from './support/sample-document.js';
import { startSample, TOKEN } from './support/sample-service.js';

let folder: string;
let files: readonly string[];
let url: string;
let stop: () => void;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  const [token, document] = [join(folder, 'token'), join(folder, 'openapi.json')];
  await writeFile(token, `${TOKEN}\n`);
  await writeFile(document, JSON.stringify(DOCUMENT));
  files = ['--token-file', token, '--document', document];
  ({ url, stop } = await startSample('sends an HTML error'));
});

afterAll(async () => {
  stop();
  await rm(folder, { recursive: true });
});

async function conformance(...words: readonly string[]) {
  let [stdout, stderr] = ['', ''];
  const code = await run(
    words,
    (text) => (stdout += text),
    (text) => (stderr += text),
  );
  return { code, stdout, stderr };
}

it('reports in TAP, with the requests and responses that show a failure', async () => {
  const words = ['--url', url, ...files, '--seed', '7', '--only', 'errors: of an unknown'];
  const { code, stdout } = await conformance(...words);
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^TAP version 14\n1\.\.2\n# seed 7\nnot ok 1 - errors: of an unknown path\n/,
  );
  expect(stdout).toContain('reason: "the error is text/html, not application/json"');
  expect(stdout).toMatch(/GET \/no-such-\w+\n[^]*<h1>Not Found<\/h1>/);
  expect(stdout).toMatch(/^ok 2 - errors: of an unknown method$/m);
  expect(stdout).not.toContain(TOKEN);
});

it('says why a check is not applicable', async () => {
  const { code, stdout } = await conformance('--url', url, ...files, '--only', 'kill -9');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ok 1 - .* # SKIP there is no command that starts the service$/m);
});

it('says how many rows are left', async () => {
  const { '/notes/{id}': item } = DOCUMENT.paths;
  const paths = { ...DOCUMENT.paths, '/notes/{id}': { ...item, delete: undefined } };
  const document = join(folder, 'without-delete.json');
  await writeFile(document, JSON.stringify({ ...DOCUMENT, paths }));
  const only = ['--document', document, '--only', 'creates of notes: every'];
  const { stdout } = await conformance('--url', url, ...files, ...only);
  expect(stdout).toMatch(/\n# 5 rows are left, such as \/notes\/\d+\n$/);
});

it('reports in lines of JSON, with the seed', async () => {
  const only = ['--only', 'creates of notes: every'];
  const { code, stdout } = await conformance(
    '--url',
    url,
    ...files,
    ...only,
    '--json',
    '--seed',
    '1',
  );
  expect(code).toBe(0);
  const name = 'creates of notes: every value is kept';
  expect(JSON.parse(stdout)).toEqual({ name, outcome: 'pass', seed: 1 });
});

it.each([
  [[], '--url and --token-file are needed'],
  [['--url', 'http://192.0.2.1:3000'], '192.0.2.1 is not this machine'],
  [['--url', 'http://localhost:1', '--seed', 'x'], '--seed is not an integer'],
  [['--no-such-option'], 'no-such-option'],
])('does not run with %j', async (words, message) => {
  const { code, stdout, stderr } = await conformance(...words, ...files);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(message);
  expect(stderr).toContain('usage: conformance');
});

it('does not run without a service', async () => {
  const words = ['--url', 'http://127.0.0.1:1', '--token-file', join(folder, 'token')];
  const { code, stderr } = await conformance(...words);
  expect(code).toBe(2);
  expect(stderr).toBe('conformance: nothing responds at http://127.0.0.1:1/openapi.json\n');
});
