import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, TOKEN } from '../../../test/support/test-service.js';
import type { TestService } from '../../../test/support/test-service.js';
import { FrontServer } from './front-server.js';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
/** In the package, so that it can import itself by its name. */
const FOLDER = join(PACKAGE, 'build');
const LANGUAGE = ['--strict', '--exactOptionalPropertyTypes', '--types', 'node'];

const run = promisify(execFile);

let service: TestService;
let readme: string;
let blocks: string[];

const blocksOf = (markdown: string) =>
  [...markdown.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);

beforeAll(async () => {
  service = await startTestService();
  readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
  blocks = blocksOf(readme);
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER);
});

afterAll(() => service.stop());

async function compile(
  name: string,
  code: readonly string[],
  ...options: readonly string[]
): Promise<string> {
  const file = join(FOLDER, name);
  await writeFile(`${file}.ts`, code.join('\n'));
  const tsc = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));
  await run(process.execPath, [tsc, '--ignoreConfig', ...LANGUAGE, ...options, `${file}.ts`]);
  return `${file}.js`;
}

/** Returns what the program prints. */
async function outputOf(program: string): Promise<string> {
  const env = { ...process.env, PLANT_STORE_URL: service.url, PLANT_STORE_TOKEN: TOKEN };
  return (await run(process.execPath, [program], { env })).stdout;
}

describe('README.md', () => {
  it('begins with a program that prints what it says', async () => {
    const [, output] = /^```text\n(.*?)^```$/ms.exec(readme) ?? [];
    const program = await compile('first-use', blocks.slice(0, 1), '--noCheck');
    expect(await outputOf(program)).toBe(output);
  });

  it('has code that compiles', async () => {
    expect(blocks.length).toBeGreaterThan(4);
    await compile('all', blocks);
  });

  it('of the repository has code that compiles', async () => {
    const repository = await readFile(join(PACKAGE, '../../README.md'), 'utf8');
    await compile('repository', blocksOf(repository));
  });

  it('has a fetch that repeats what got no answer or a 503', async () => {
    const answers = [503, undefined, 200];
    const bodies: string[] = [];
    await using front = await FrontServer.start((request, response) => {
      void (async () => {
        bodies.push(await text(request));
        const status = answers.shift();
        if (status === undefined) response.destroy();
        else response.writeHead(status, { 'Retry-After': '0' }).end('{"name":"Aloe"}');
      })();
    });
    const retries = blocks.find((code) => code.includes('fetchWithRetries')) ?? '';
    const code = [
      "import { PlantStore } from 'plant-store-client';",
      `const url = '${front.url}', token = 'a-token';`,
      retries,
      "console.log(await patient.create({ id: 9007199254740993n, name: 'Aloe' }));",
    ];
    const program = await compile('retries', code, '--noCheck');
    expect(await outputOf(program)).toBe("{ name: 'Aloe' }\n");
    expect(bodies).toEqual(Array(3).fill('{"id":9007199254740993,"name":"Aloe"}'));
  });
});
