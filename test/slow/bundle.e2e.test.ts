import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { linkPackages } from '../support/installed-packages.js';
import { Workspace } from '../support/process.js';
import type { Environment, ServiceProcess } from '../support/process.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { TOKEN } from '../support/test-service.js';

const HEADERS = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };

const REFERENCE = 'packages/api-reference';

const DOCUMENTS = 'https://example.com/plant-store/docs';

describe('the bundle', () => {
  let database: TestDatabase;
  let image: Workspace;
  let service: ServiceProcess;

  beforeAll(async () => {
    [database, image] = await Promise.all([createTestDatabase(), Workspace.create()]);
    for (const name of ['dist', `${REFERENCE}/package.json`, `${REFERENCE}/public`]) {
      await cp(name, image.path(name), { recursive: true });
    }
    const settings = JSON.parse(await readFile('package.json', 'utf8')) as object;
    await writeFile(
      image.path('package.json'),
      JSON.stringify({ ...settings, homepage: DOCUMENTS }),
    );
    const scope = image.path('node_modules', '@resource-service');
    await mkdir(scope, { recursive: true });
    await symlink(`../../${REFERENCE}`, `${scope}/api-reference`);
    const assets = image.path('node_modules', 'swagger-ui-dist');
    await mkdir(assets, { recursive: true });
    for (const name of ['package.json', 'swagger-ui.css', 'swagger-ui-bundle.js']) {
      await cp(`node_modules/swagger-ui-dist/${name}`, `${assets}/${name}`);
    }
    const library = 'node_modules/oauth4webapi';
    await cp(`${library}/package.json`, image.path(library, 'package.json'));
    await cp(`${library}/build/index.js`, image.path(library, 'build', 'index.js'));
    service = start({
      AUTH_JWT_ISSUER: 'https://id.example.com',
      AUTH_JWT_AUDIENCE: 'plants',
      DOCS_OAUTH_CLIENT_ID: 'docs',
    });
  });

  afterAll(async () => {
    await image.remove();
    await database.drop();
  });

  function start(environment: Environment): ServiceProcess {
    return image.start(
      { DATABASE_URL: database.url, AUTH_TOKEN: TOKEN, ...environment },
      { main: image.path('dist', 'main.js') },
    );
  }

  const plantStore = (args: readonly string[], env: Environment) =>
    promisify(execFile)(image.path('dist', 'cli', 'plant-store.js'), args, {
      env: { PATH: process.env['PATH'], ...env },
    });

  it('needs no package but the assets of the docs page', async () => {
    const { url } = await service.listening();
    const body = '{"id":1,"name":"Monstera"}';
    const created = await fetch(`${url}/plants`, { method: 'POST', headers: HEADERS, body });
    expect(await created.text()).toBe('{"name":"Monstera"}');
    for (const path of [
      'docs',
      'docs/swagger-ui-bundle.js',
      'docs/sign-in/oauth4webapi.js',
      'openapi.yaml',
    ]) {
      expect(await fetch(`${url}/${path}`)).toMatchObject({ status: 200 });
    }
  });

  it('links to the documents where package.json says that they are', async () => {
    const { url } = await service.listening();
    expect(await (await fetch(`${url}/docs`)).text()).toContain(`<a href="${DOCUMENTS}">Docs</a>`);
  });

  it('contains the command plant-store, which needs no package either', async () => {
    const { url } = await service.listening();
    await writeFile(image.path('plants.csv'), 'id,name,tag\n9007199254740993,Ficus,\n');
    const env = { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN };
    const { stdout } = await plantStore(['import', image.path('plants.csv')], env);
    expect(stdout).toMatch(/^created 1, unchanged 0, refused 0 /);
    expect((await plantStore(['export', '--name', 'ficus'], env)).stdout).toBe(
      '{"id":9007199254740993,"name":"Ficus"}\n',
    );
  });

  it('contains a command that finds the service of its container', async () => {
    const { url, port } = await start({ PUBLIC_BASE_URL: 'http://localhost/api' }).listening();
    // As `api` in docker-compose.yml, and the image.
    const env = {
      NODE_ENV: 'production',
      HOST: '::',
      PORT: String(port),
      MANAGEMENT_HOST: '::',
      MANAGEMENT_PORT: '',
      DATABASE_URL: database.url,
      DATABASE_MIGRATE_ON_START: 'false',
      AUTH_TOKEN: TOKEN,
      AUTH_JWT_ISSUER: '',
      PUBLIC_BASE_URL: 'http://localhost/api',
    };
    const exporting = (changes: Environment) => plantStore(['export'], { ...env, ...changes });
    expect((await exporting({})).stderr).toMatch(/^exported \d+ plants /);
    // Its own variables win, and the token of this service is not for another.
    await expect(exporting({ PLANT_STORE_TOKEN: 'wrong' })).rejects.toMatchObject({
      code: 3,
      stderr: expect.stringContaining('40101 '),
    });
    await expect(exporting({ PLANT_STORE_URL: `${url}/api` })).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^plant-store: PLANT_STORE_TOKEN is not set, /),
    });
    for (const missing of ['AUTH_TOKEN', 'DATABASE_URL']) {
      await expect(exporting({ [missing]: '' })).rejects.toMatchObject({
        code: 2,
        stderr: 'plant-store: PLANT_STORE_URL is not set, and no service runs in this folder\n',
      });
    }
    await expect(
      exporting({ AUTH_TOKEN: '', AUTH_JWT_ISSUER: 'https://a.test', AUTH_JWT_AUDIENCE: 'a' }),
    ).rejects.toMatchObject({
      code: 2,
      stderr:
        'plant-store: PLANT_STORE_TOKEN is not set, and the service here has no AUTH_TOKEN: set PLANT_STORE_TOKEN to a token that it accepts\n',
    });
  });

  it('has the checks that only throw: a password that is not percent-encoded is refused', async () => {
    const malformed = start({ DATABASE_URL: 'postgres://user:50%@127.0.0.1/plants' });
    expect((await malformed.exit()).code).toBe(1);
    expect(malformed.complaints).toEqual([
      'plant-store: DATABASE_URL must be a URL such as postgres://user:password@host:5432/database, special characters percent-encoded',
    ]);
  });

  it('names the files and lines of src in stack traces', async () => {
    const { url } = await service.listening();
    await database.query('ALTER TABLE plants RENAME TO flowers');
    expect(await fetch(`${url}/plants/1`, { headers: HEADERS })).toMatchObject({ status: 500 });
    const { err } = await service.logged('the service failed to handle the request');
    expect(err).toMatchObject({
      stack: expect.stringMatching(/\/src\/resources\/reads\/group-lookup\.ts:\d+/),
    });
  });
});

describe('npm start', () => {
  let project: Workspace;

  beforeEach(async () => {
    project = await Workspace.create();
    const sources = ['src', 'packages', 'bundle.js', 'sbom.js', 'openapi.json'];
    const settings = ['package.json', 'package-lock.json', 'tsconfig.json'];
    const filter = (path: string) => basename(path) !== 'node_modules';
    for (const name of [...sources, ...settings]) {
      await cp(name, project.path(name), { recursive: true, filter });
    }
    await linkPackages(project.folder);
  });

  afterEach(() => project.remove());

  const start = (environment: Environment = {}) =>
    project.start(
      { ...environment, HOME: project.folder },
      { through: ['sh', '-c', 'exec npm start'], ownGroup: true },
    );

  const end = async (service: ServiceProcess) => {
    service.killGroup('SIGINT');
    expect(await service.exit()).toMatchObject({ code: 0 });
    expect(await project.leftovers()).toEqual([]);
  };

  it('serves without the client, if it cannot be written', async () => {
    await writeFile(project.path('dist-client'), 'a file, where the folder would be');
    const service = start();
    const { url } = await service.listening();
    expect((await fetch(`${url}/docs/client.tgz`)).status).toBe(404);
    expect((await fetch(`${url}/plants`)).status).toBe(401);
    expect(service.complaints).toEqual([
      expect.stringMatching(/^plant-store: cannot write the client to dist-client \([A-Z]+\)$/),
    ]);
    await end(service);
  });

  it('builds first, also if npm may not run the scripts before it (ignore-scripts)', async () => {
    const service = start({ npm_config_ignore_scripts: 'true' });
    const { url } = await service.listening();
    expect((await fetch(`${url}/docs/client.tgz`)).status).toBe(200);
    expect((await fetch(`${url}/plants`)).status).toBe(401);
    await end(service);
  });
});
