import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../packages/framework/src/config/config.js';
import { welcome } from '../../packages/framework/src/app/welcome.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { IDENTITY } from '../../src/identity.js';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
/** In the package, so that it can import itself by its name. */
const FOLDER = join(REPOSITORY, 'dist-client/build');
const LANGUAGE = ['--strict', '--exactOptionalPropertyTypes', '--types', 'node'];

const run = promisify(execFile);

let service: TestService;
let readme: string;
let blocks: string[];

const blocksOf = (markdown: string) =>
  [...markdown.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);

beforeAll(async () => {
  service = await startTestService();
  readme = await readFile(join(REPOSITORY, 'docs/typescript-client.md'), 'utf8');
  blocks = blocksOf(readme);
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER);
});

beforeEach(() => service.database.empty());

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

/** The plant that the `curl` line of `npm start` creates. */
function firstPlant(): string {
  const address = { address: '127.0.0.1', family: 'IPv4', port: 3000 };
  const [, plant = ''] =
    / -d '(.*)'/.exec(welcome(readConfig(IDENTITY, { AUTH_TOKEN: TOKEN }), address)) ?? [];
  return plant;
}

describe('docs/typescript-client.md', () => {
  it('begins with a program that prints what it says, after the first plant and again', async () => {
    await service.post(firstPlant());
    const [, output] = /^```text\n(.*?)^```$/ms.exec(readme) ?? [];
    const program = await compile('first-use', blocks.slice(0, 1), '--noCheck');
    expect(await outputOf(program)).toBe(output);
    expect(await outputOf(program)).toBe(output);
  });

  it('has code that compiles', async () => {
    expect(blocks.length).toBeGreaterThan(5);
    await compile('all', blocks);
  });

  it('has a handler that reads and writes all digits', async () => {
    const handler = blocks.find((code) => code.includes('createServer')) ?? '';
    const code = [
      "import { PlantStore, PlantStoreError } from '@plant-store/client';",
      `const store = new PlantStore({ url: '${service.url}', token: '${TOKEN}' });`,
      handler,
      `server.listen(0, '127.0.0.1', async () => {
        const url = 'http://127.0.0.1:' + (server.address() as { port: number }).port;
        const plant = '{"id":9223372036854775807,"name":"Aloe"}';
        console.log(await (await fetch(url, { method: 'POST', body: plant })).text());
        const refused = await fetch(url, { method: 'POST', body: '{"id":9223372036854775807}' });
        console.log(refused.status);
        server.close();
        server.closeAllConnections();
      });`,
    ];
    const program = await compile('handler', code, '--noCheck');
    expect(await outputOf(program)).toBe('[{"id":9223372036854775807,"name":"Aloe"}]\n400\n');
  });

  it('says how to install it as the repository does', async () => {
    const [, line = ''] = /^```sh\n(.*)\n^```$/m.exec(readme) ?? [];
    expect(line).toBe('npm install http://localhost:3000/docs/client.tgz');
    expect(await readFile(join(REPOSITORY, 'README.md'), 'utf8')).toContain(line);
  });
});

describe('README.md of the repository', () => {
  it('has a program that works after the first plant, and again', async () => {
    await service.post(firstPlant());
    const code = blocksOf(await readFile(join(REPOSITORY, 'README.md'), 'utf8'));
    const program = await compile(
      'repository',
      code.map((block) => block.replace('http://localhost:3000', service.url)),
    );
    const plants = '9007199254740993n Monstera\n';
    expect(await outputOf(program)).toBe(`${plants}{ created: 3, unchanged: 0, refused: 0 }\n`);
    expect(await outputOf(program)).toBe(`${plants}{ created: 0, unchanged: 3, refused: 0 }\n`);
  });
});
