import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../../../test/support/browser.js';
import { startTestService, TOKEN } from '../../../test/support/test-service.js';
import type { TestService } from '../../../test/support/test-service.js';
import { FrontServer } from './front-server.js';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));

const run = promisify(execFile);

it('has only what its users need', async () => {
  const pack = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await run('npm', pack, { cwd: PACKAGE });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const paths = files.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining(['README.md', 'package.json', 'dist/plant-store.js']),
  );
  expect(
    paths.filter((path) => !/^(README.md|package.json|dist\/.*\.js|dist\/.*\.d\.ts)$/.test(path)),
  ).toEqual([]);
});

describe('in Chromium, from another origin and without a bundler', () => {
  // A bundler would replace what only Node.js has.
  const FOLDERS: Record<string, string> = {
    test: fileURLToPath(new URL('.', import.meta.url)),
    'plant-store-client': join(PACKAGE, 'dist'),
    'openapi-fetch': dirname(fileURLToPath(import.meta.resolve('openapi-fetch'))),
    'lossless-json': dirname(fileURLToPath(import.meta.resolve('lossless-json'))),
  };
  const IMPORT_MAP = {
    imports: {
      'plant-store-client': '/plant-store-client/plant-store.js',
      'openapi-fetch': '/openapi-fetch/index.mjs',
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

  async function call(name: string): Promise<unknown> {
    const page = await browser.newPage();
    await page.goto(site.url);
    const options = JSON.stringify({ url: service.url, token: TOKEN });
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
});
