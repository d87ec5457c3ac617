import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../support/browser.js';
import { FaultyLink } from '../support/faulty-link.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { FrontServer } from './front-server.js';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGE = join(REPOSITORY, 'dist-client');

const run = promisify(execFile);

it('has only what its users need', async () => {
  const pack = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await run('npm', pack, { cwd: PACKAGE });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const paths = files.map(({ path }) => path);
  const folders = ['commonjs/package.json', 'commonjs/plant-store.d.ts', 'dist/plant-store.js'];
  expect(paths).toEqual(expect.arrayContaining(['README.md', 'package.json', ...folders]));
  const needed = /^(README.md|(commonjs\/)?package.json|dist\/.*\.js|(commonjs|dist)\/.*\.d\.ts)$/;
  expect(paths.filter((path) => !needed.test(path))).toEqual([]);
});

describe('a program of a user', () => {
  const TSC = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));
  const STRICT = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
  const PROGRAM = `
import { ERRORS, PlantStore, PlantStoreError, toJson } from '@plant-store/client';
import type { Page, StoredPlant } from '@plant-store/client';

const store = new PlantStore({ url: 'http://127.0.0.1:1', token: 'a-token', retries: 0 });
const page: Promise<Page> = store.list({ limit: 10 });
const plant: StoredPlant = { id: 9007199254740993n, name: 'Aloe' };
page.catch((error: unknown) => {
  if (error instanceof PlantStoreError && error.code === ERRORS.idTaken) throw error;
  console.log(toJson(plant), error instanceof TypeError);
});
`;

  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-client-'));
    const modules = join(folder, 'node_modules');
    await mkdir(modules);
    const { stdout } = await run(
      'npm',
      ['pack', '--ignore-scripts', '--pack-destination', folder],
      {
        cwd: PACKAGE,
      },
    );
    await run('tar', ['-xzf', join(folder, stdout.trim()), '-C', modules]);
    await mkdir(join(modules, '@plant-store'));
    await rename(join(modules, 'package'), join(modules, '@plant-store/client'));
    // What npm would install beside it.
    for (const name of ['lossless-json', '@types']) {
      await symlink(join(REPOSITORY, 'node_modules', name), join(modules, name));
    }
  });

  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    ['an ES module', '.mts', '.mjs', 'nodenext', 'nodenext'],
    ['a CommonJS module', '.cts', '.cjs', 'nodenext', 'nodenext'],
    ['an ES module, node16', '.mts', '.mjs', 'node16', 'node16'],
    ['a CommonJS module, node16', '.cts', '.cjs', 'node16', 'node16'],
    ['a CommonJS module of old settings', '.ts', '.js', 'commonjs', 'node10'],
    ['an ES module of a bundler', '.mts', '.mjs', 'esnext', 'bundler'],
  ])('is %s', async (_name, source, target, module, resolution) => {
    const name = `${module}-${resolution}`;
    await writeFile(join(folder, name + source), PROGRAM);
    const language = ['--target', 'es2022', '--types', 'node', '--ignoreDeprecations', '6.0'];
    const modules = ['--module', module, '--moduleResolution', resolution];
    // Without skipLibCheck, so the declarations of the package are checked, too. The compiler's own declarations need no test.
    const compile = [
      TSC,
      '--ignoreConfig',
      '--skipDefaultLibCheck',
      ...STRICT,
      ...language,
      ...modules,
      name + source,
    ];
    await run(process.execPath, compile, { cwd: folder });
    const { stdout } = await run(process.execPath, [name + target], { cwd: folder });
    expect(stdout).toBe('{"id":9007199254740993,"name":"Aloe"} true\n');
  });

  it('compiles with the oldest TypeScript that the documentation names', async () => {
    const page = await readFile(join(REPOSITORY, 'docs/typescript-client.md'), 'utf8');
    const [, version = ''] = /TypeScript (\d\.\d) or newer/.exec(page) ?? [];
    // Without one, npm would install the newest.
    expect(version).not.toBe('');
    const old = join(folder, 'old');
    await mkdir(old);
    await writeFile(join(old, 'package.json'), '{"private":true}');
    const words = ['install', `typescript@${version}`, '--no-audit', '--no-fund'];
    await run('npm', [...words, '--prefer-offline'], { cwd: old });
    await writeFile(join(folder, 'oldest.mts'), PROGRAM);
    const tsc = join(old, 'node_modules/typescript/bin/tsc');
    const language = ['--noEmit', '--target', 'es2022', '--types', 'node', '--module', 'nodenext'];
    // Without skipLibCheck, as above.
    const compile = [tsc, '--skipDefaultLibCheck', ...STRICT, ...language, 'oldest.mts'];
    await run(process.execPath, compile, { cwd: folder });
  });
});

it('is installed from a service, as its docs page says', async () => {
  const service = await startTestService();
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-client-'));
  try {
    const page = await (await fetch(`${service.url}/docs`)).text();
    const [, path] = /npm install <span data-fill="base">[^<]+<\/span>(\/[\w/.]+)/.exec(page) ?? [];
    const words = ['install', service.url + path, '--no-audit', '--no-fund', '--prefer-offline'];
    await run('npm', words, { cwd: folder });
    const program = `import { PlantStore } from '@plant-store/client';
      const store = new PlantStore({ url: '${service.url}', token: '${TOKEN}' });
      console.log(await store.create({ id: 9007199254740993n, name: 'Ficus' }));`;
    const options = ['--input-type=module', '--eval', program];
    const { stdout } = await run(process.execPath, options, { cwd: folder });
    expect(stdout).toBe("{ name: 'Ficus' }\n");
  } finally {
    await service.stop();
    await rm(folder, { recursive: true });
  }
});

it('works in Jest, with what its README and the documentation say to set', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-client-'));
  try {
    const configIn = async (file: string) =>
      /```js\n(\/\/ jest\.config\.js\n.*?)```/s.exec(await readFile(file, 'utf8'))?.[1] ?? '';
    const config = await configIn(join(PACKAGE, 'README.md'));
    expect(config).toBe(await configIn(join(REPOSITORY, 'docs/typescript-client.md')));
    const test = `test('digits', () => {
        expect(toJson({ id: 9007199254740993n })).toBe('{"id":9007199254740993}');
        expect(version).toMatch(/^\\d/);
      });`;
    const files = {
      'package.json': '{}',
      'jest.config.js': config,
      'tsconfig.json':
        '{"compilerOptions":{"module":"commonjs","target":"es2022","resolveJsonModule":true,"esModuleInterop":true}}',
      'a.test.ts': `import { toJson } from '@plant-store/client';
        import { version } from '@plant-store/client/package.json';\n${test}`,
      'b.test.js': `const { toJson } = require('@plant-store/client');
        const { version } = require('@plant-store/client/package.json');\n${test}`,
    };
    for (const [name, content] of Object.entries(files))
      await writeFile(join(folder, name), content);
    const packages = ['jest@30', 'ts-jest@29', 'typescript@5.9', '@types/jest@30'];
    const words = ['install', ...packages, join(PACKAGE, 'client.tgz'), '--no-audit', '--no-fund'];
    await run('npm', [...words, '--ignore-scripts', '--prefer-offline'], { cwd: folder });
    const { stderr } = await run('npx', ['jest'], { cwd: folder });
    expect(stderr).toMatch(/^Tests: +2 passed, 2 total$/m);
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe('in Chromium, from another origin and without a bundler', () => {
  // A bundler would replace what only Node.js has.
  const FOLDERS: Record<string, string> = {
    test: fileURLToPath(new URL('.', import.meta.url)),
    'plant-store-client': join(PACKAGE, 'dist'),
    'lossless-json': dirname(fileURLToPath(import.meta.resolve('lossless-json'))),
  };
  const IMPORT_MAP = {
    imports: {
      '@plant-store/client': '/plant-store-client/plant-store.js',
      'lossless-json': '/lossless-json/index.js',
    },
  };
  const PAGE = `<!doctype html><script type="importmap">${JSON.stringify(IMPORT_MAP)}</script>`;

  let site: FrontServer;
  let service: TestService;
  let browser: Browser;

  beforeAll(async () => {
    site = await FrontServer.start((request, response) => {
      const [, name = '', file = ''] = /^\/([\w-]+)\/([\w.-]+)$/.exec(request.url ?? '') ?? [];
      const folder = FOLDERS[name];
      if (folder === undefined) {
        response.writeHead(200, { 'Content-Type': 'text/html' }).end(PAGE);
        return;
      }
      response.writeHead(200, { 'Content-Type': 'text/javascript' });
      createReadStream(join(folder, file)).pipe(response);
    });
    [service, browser] = await Promise.all([
      startTestService({ environment: { CORS_ORIGINS: site.url } }),
      launchBrowser(),
    ]);
  });

  afterAll(() => Promise.all([browser.close(), service.stop(), site[Symbol.asyncDispose]()]));

  async function call(name: string, { url }: { readonly url: string } = service): Promise<unknown> {
    const page = await browser.newPage();
    await page.goto(site.url);
    const options = JSON.stringify({ url, token: TOKEN });
    return page.evaluate(
      `import('/test/browser-calls.js').then((calls) => calls.${name}(${options}))`,
    );
  }

  it('works', async () => {
    const ids = [...Array(20).keys(), '9007199254740993'].map(String);
    expect(await call('makeCalls')).toEqual({
      failure: 41200,
      refused: [[1, 40009]],
      summary: { created: 20, unchanged: 0, refused: 1 },
      listed: ids,
      exported: ids,
    });
  });

  it('imports plants of which each is refused', async () => {
    expect(await call('importRefusedPlants')).toEqual({
      created: 0,
      unchanged: 0,
      refused: 5_000,
    });
  });
  it('follows changes over connections that break', async () => {
    await service.database.empty();
    for (let id = 1; id <= 30; id++) await service.post({ id, name: 'Aloe' });
    const link = await FaultyLink.to(service.url);
    try {
      link.poison({ kind: 'limit_data', bytes: 5_000 });
      expect(await call('followToTheLatest', link)).toEqual(
        Array.from({ length: 30 }, (_, index) => index + 1),
      );
      expect(link.harmed).toBeGreaterThan(1);
    } finally {
      await link.close();
    }
  });

  it('repeats a request whose connection broke, with its body', async () => {
    const bodies: string[] = [];
    await using front = await FrontServer.start((request, response) => {
      response.setHeader('Access-Control-Allow-Origin', '*');
      response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type');
      void (async () => {
        const body = await text(request);
        if (request.method === 'POST') bodies.push(body);
        if (request.method === 'POST' && bodies.length < 3) response.destroy();
        else response.end('{"name":"Ficus"}');
      })();
    });
    expect(await call('createOne', front)).toEqual({ name: 'Ficus' });
    expect(bodies).toEqual(Array(3).fill('{"id":9007199254740993,"name":"Ficus"}'));
  });
});
