import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Module } from '@nestjs/common';
import { check, resolveConfig } from 'prettier';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../packages/framework/src/config/config.js';
import { welcome } from '../../packages/framework/src/app/welcome.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import { TOKEN } from '../support/test-service.js';
import { IDENTITY } from '../../src/identity.js';

/* Runs the programs in this process. slow/start.test.ts runs them as processes. */

const PROJECT = process.cwd();

let folder: string;
let output: string;
let exit: ReturnType<typeof vi.spyOn>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plant-store-main-'));
  process.chdir(folder);
  output = '';
  const collect = (text: unknown): boolean => {
    output += String(text);
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(collect);
  vi.spyOn(process.stderr, 'write').mockImplementation(collect);
  exit = vi.spyOn(process, 'exit').mockImplementation((() => {}) as () => never);
  vi.stubEnv('PORT', '0');
  vi.stubEnv('MANAGEMENT_PORT', '0');
  vi.stubEnv('LOG_LEVEL', 'silent');
  vi.resetModules();
  vi.doMock('../../packages/framework/src/observability/logger.js', async (importOriginal) => ({
    ...(await importOriginal<
      typeof import('../../packages/framework/src/observability/logger.js')
    >()),
    bufferedStdout: () => ({ write: collect }),
  }));
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  process.removeAllListeners('SIGINT').removeAllListeners('SIGTERM').removeAllListeners('SIGHUP');
  process.chdir(PROJECT);
  await rm(folder, { recursive: true, force: true });
});

async function exitOf(program: Promise<unknown>): Promise<unknown> {
  await program;
  return exit.mock.calls[0]?.[0];
}

describe('the service', () => {
  it.each([
    ['prints the welcome', 'plant-store-local-token-that-everybody-knows'],
    ['prints no welcome', TOKEN],
  ])('%s on a DATABASE_URL with the token %s', async (what, token) => {
    const database = await createTestDatabase();
    vi.stubEnv('DATABASE_URL', database.url);
    vi.stubEnv('AUTH_TOKEN', token);
    vi.stubEnv('LOG_LEVEL', 'info');
    const program = import('../../src/main.js');
    try {
      await vi.waitFor(() => expect(output).toContain('"listening"'), PATIENCE);
      expect(output).toMatch(/"docs":"http:\/\/localhost:\d+\/docs"/);
      const isPublic = what === 'prints the welcome';
      expect(output.includes(`Bearer ${token}`)).toBe(isPublic);
      expect(/Docs {10}http:\/\/localhost:\d+\/docs\n/.test(output)).toBe(isPublic);
      process.emit('SIGINT');
      expect(await exitOf(program)).toBe(0);
    } finally {
      await database.drop();
    }
  });

  it('stops on a signal while it waits for its database', async () => {
    vi.stubEnv('DATABASE_URL', 'postgres://nobody@127.0.0.1:1/none');
    vi.stubEnv('AUTH_TOKEN', TOKEN);
    vi.stubEnv('LOG_LEVEL', 'info');
    const program = import('../../src/main.js');
    await vi.waitFor(() => expect(output).toContain('waiting up to 30 s'), PATIENCE);
    process.emit('SIGTERM');
    expect(await exitOf(program)).toBe(0);
  });

  it('ends at once at a second signal, unless npm repeats the first', async () => {
    const program = import('../../src/main.js');
    await vi.waitFor(() => expect(output).toContain('Plant Store'), PATIENCE);
    process.emit('SIGINT');
    process.emit('SIGINT');
    expect(exit).not.toHaveBeenCalled();
    const now = performance.now();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(now + 5_000);
    process.emit('SIGINT');
    expect(exit).toHaveBeenCalledWith(1);
    clock.mockRestore();
    await program;
  });

  it('shows where an error comes from that nobody expected', async () => {
    const local = await import('@resource-service/local');
    vi.doMock('@resource-service/local', () => ({
      ...local,
      startLocalInstance: () => Promise.reject(new TypeError('unexpected')),
    }));
    expect(await exitOf(import('../../src/main.js'))).toBe(1);
    expect(output).toMatch(/^plant-store: TypeError: unexpected\nplant-store: {5}at /);
    vi.doUnmock('@resource-service/local');
  });

  it('prints one line for each mistake of the configuration', async () => {
    vi.stubEnv('PORT', 'x');
    vi.stubEnv('BODY_LIMIT', 'x');
    expect(await exitOf(import('../../src/main.js'))).toBe(1);
    expect(output).toMatch(/^plant-store: PORT must be .*\nplant-store: BODY_LIMIT must be .*\n$/);
  });
});

/** In the folder of the test. */
const MODULE = join('src', 'plants', 'plants.module.ts');

/** From the folder of the project. */
async function copyModule(): Promise<void> {
  await mkdir(dirname(MODULE), { recursive: true });
  for (const file of [MODULE, '.prettierrc.json']) await cp(join(PROJECT, file), file);
}

describe('the migration command', () => {
  async function migration(...commandLine: string[]): Promise<void> {
    vi.resetModules();
    process.argv = [process.argv[0] ?? '', 'migration.js', ...commandLine];
    const { migrationCommand } = await import('../../packages/framework/src/cli/migration.js');
    const { AppModule } = await import('../../src/app.module.js');
    await migrationCommand(AppModule);
  }

  afterEach(() => {
    process.exitCode = undefined;
  });

  it('runs, reverts and generates, on the primary among the hosts of DATABASE_URL', async () => {
    const database = await createTestDatabase();
    const { host } = new URL(database.url);
    // Nobody listens on the first.
    vi.stubEnv('DATABASE_URL', database.url.replace(host, `127.0.0.1:1,${host}`));
    await migration('run');
    expect(output).toContain('CreatePlants1763683200000');
    await migration('revert');
    expect(output).toContain('reverted the last migration');
    await copyModule();
    await migration('generate', 'AddColour', 'plants');
    expect(output).toContain('nothing to migrate');
    await migration('generate', 'AddColour', 'hedges');
    expect(output).toContain('there is no src/hedges/hedges.module.ts');
    await migration('generate', 'add colour', 'plants');
    expect(output).toContain('must be in Pascal case');
    expect(process.exitCode).toBe(1);
    await database.drop();
  });

  it('writes nothing if the migration would lose what was made by hand', async () => {
    const database = await createTestDatabase();
    vi.stubEnv('DATABASE_URL', database.url);
    await migration('run');
    await database.query(
      `ALTER TABLE plants DROP COLUMN tag, ADD tag uuid; COMMENT ON COLUMN plants.tag IS 'of the label'; CREATE VIEW tags AS SELECT tag FROM plants`,
    );
    await copyModule();
    await migration('generate', 'ChangeTag', 'plants');
    expect(process.exitCode).toBe(2);
    expect(output).toContain('would drop the comment of the column');
    expect(output).toContain('the view public.tags needs the column');
    expect(existsSync(join('src', 'plants', 'migrations'))).toBe(false);
    await database.drop();
  });

  it('generates the difference between entities and schema', async () => {
    const database = await createTestDatabase();
    vi.stubEnv('DATABASE_URL', database.url);
    await migration('run');
    await database.query('ALTER TABLE plants DROP COLUMN tag');
    await copyModule();
    await migration('generate', 'AddTag', 'plants');
    const migrations = join('src', 'plants', 'migrations');
    const [file = ''] = await readdir(migrations);
    expect(file).toMatch(/^\d{13}-add-tag\.ts$/);
    const source = await readFile(join(migrations, file), 'utf8');
    expect(source).toContain('`ALTER TABLE "plants" ADD "tag" text`');
    expect(source).toContain('`ALTER TABLE "plants" DROP COLUMN "tag"`');
    const listing = await readFile(MODULE, 'utf8');
    const format = { ...(await resolveConfig(MODULE)), parser: 'typescript' };
    for (const text of [source, listing]) expect(await check(text, format)).toBe(true);
    const name = file.replace(/^(\d+).*/, 'AddTag$1');
    expect(listing).toContain(
      `import { ${name} } from './migrations/${file.replace(/ts$/, 'js')}';`,
    );
    expect(listing).toMatch(
      new RegExp(`migrations: \\[\\n {8}CreatePlants[^\\]]*,\\n {8}${name},\\n {6}\\],`),
    );
    await database.drop();
  });

  it('writes nothing if the module has no list of migrations that it can tell', async () => {
    const database = await createTestDatabase();
    vi.stubEnv('DATABASE_URL', database.url);
    await migration('run');
    await database.query('ALTER TABLE plants DROP COLUMN tag');
    await copyModule();
    const text = (await readFile(MODULE, 'utf8')).replace(
      /migrations: \[[^\]]*\]/,
      'migrations: ALL',
    );
    await writeFile(MODULE, text);
    await migration('generate', 'AddTag', 'plants');
    expect(output).toContain(`${MODULE}:`);
    expect(output).toContain('has migrations of ResourceModule.forFeature() that are no list');
    expect(process.exitCode).toBe(1);
    expect(await readdir(dirname(MODULE))).toEqual(['plants.module.ts']);
    expect(await readFile(MODULE, 'utf8')).toBe(text);
    await database.drop();
  });

  it('lists a migration before the comment at the end of a file with CRLF', async () => {
    const database = await createTestDatabase();
    vi.stubEnv('DATABASE_URL', database.url);
    await migration('run');
    await database.query('ALTER TABLE plants DROP COLUMN tag');
    await copyModule();
    const text = (await readFile(MODULE, 'utf8'))
      .replace(/(migrations: \[[^\]]*,)(?=\n *\])/, '$1\n        // the newest last')
      .replaceAll('\n', '\r\n');
    await writeFile(MODULE, text);
    await migration('generate', 'AddTag', 'plants');
    const listing = await readFile(MODULE, 'utf8');
    expect(listing).toMatch(/,\r\n {8}AddTag\d+,\r\n {8}\/\/ the newest last\r\n {6}\],/);
    expect(listing).toMatch(
      /;\r\nimport \{ AddTag\d+ \} from '.\/migrations\/\d+-add-tag.js';\r\n/,
    );
    expect(listing.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    await database.drop();
  });

  it('uses the database of the local instance without a DATABASE_URL', async () => {
    await migration('run');
    expect(output).toContain('creating the database (first start only)');
    expect(process.exitCode).toBe(0);
  });

  it('shows where an error comes from that nobody expected', async () => {
    const database = await createTestDatabase();
    await writeFile('.env', `DATABASE_URL=${database.url}\n`);
    await migration('run');
    delete process.env['DATABASE_URL'];
    await database.query('ALTER TABLE plant_store_migrations DROP COLUMN name');
    await migration('run');
    expect(output).toContain('column \\"name\\" does not exist');
    expect(process.exitCode).toBe(1);
    delete process.env['DATABASE_URL'];
    await database.drop();
  });

  it('stops on a signal while it waits for its database', async () => {
    vi.stubEnv('DATABASE_URL', 'postgres://nobody@127.0.0.1:1/none');
    const program = migration('run');
    await vi.waitFor(() => expect(output).toContain('waiting up to 30 s'), PATIENCE);
    const start = performance.now();
    process.emit('SIGINT');
    await program;
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(process.exitCode).toBe(1);
  });

  it.each([['run'], ['generate', 'AddColour', 'plants']])(
    'names mistakes in classes before it connects: %s',
    async (...commandLine) => {
      vi.stubEnv('DATABASE_URL', 'postgres://nobody@127.0.0.1:1/none');
      await copyModule();
      vi.resetModules();
      process.argv = [process.argv[0] ?? '', 'migration.js', ...commandLine];
      const { migrationCommand } = await import('../../packages/framework/src/cli/migration.js');
      const { FrameworkModule } = await import('../../packages/framework/src/index.js');
      @Module({ imports: [FrameworkModule.forRoot(IDENTITY)] })
      class UnguardedModule {}
      await migrationCommand(UnguardedModule);
      expect(output).toContain('UnguardedModule lacks { provide: APP_GUARD, useClass: AuthGuard }');
      expect(output).toContain('UnguardedModule lacks { provide: APP_FILTER');
      expect(output).not.toContain('waiting');
      expect(process.exitCode).toBe(1);
      expect(existsSync(join('src', 'plants', 'migrations'))).toBe(false);
    },
  );

  it('prints its usage', async () => {
    await migration('up');
    expect(output).toContain('usage: migration generate NAME MODULE | run | revert');
    expect(process.exitCode).toBe(1);
  });
});

it('the documents that follow from the code are as they are committed', async () => {
  const [openApi, errors, limits] = ['openapi.json', 'errors.md', 'limits.md'];
  const variables = '.env.example';
  await cp(join(PROJECT, variables), variables);
  // With its settings, the formatter breaks lines where it does in the project.
  await cp(join(PROJECT, '.prettierrc.json'), '.prettierrc.json');
  const { writeDocuments } = await import('../../packages/framework/src/cli/write-documents.js');
  const { AppModule } = await import('../../src/app.module.js');
  await writeDocuments(AppModule, { openApi, errors, limits, variables });
  for (const [written, committed] of [
    [openApi, 'openapi.json'],
    [errors, 'docs/errors.md'],
    [limits, 'docs/limits.md'],
    [variables, variables],
  ] as const) {
    expect(await readFile(written, 'utf8')).toBe(await readFile(join(PROJECT, committed), 'utf8'));
  }
});

describe('the welcome', () => {
  it('reads the token from the file that it is in', async () => {
    await writeFile('a token', 'a-token-that-is-long-enough-for-a-service.');
    const config = readConfig(IDENTITY, { AUTH_TOKEN_FILE: 'a token' });
    const text = welcome(config, { address: '127.0.0.1', family: 'IPv4', port: 1 });
    expect(text).toContain('Token         in a token\n');
    expect(text).toContain(`"Authorization: Bearer $(cat 'a token')"`);
  });

  it.each([
    [{ address: '127.0.0.1', family: 'IPv4', port: 1 }, 'http://localhost:1'],
    [{ address: '::', family: 'IPv6', port: 2 }, 'http://localhost:2'],
    [{ address: '192.0.2.7', family: 'IPv4', port: 3 }, 'http://192.0.2.7:3'],
    [{ address: '2001:db8::7', family: 'IPv6', port: 4 }, 'http://[2001:db8::7]:4'],
  ])('contains a URL that can be opened: %o', (address, url) => {
    const config = readConfig(IDENTITY, {
      PUBLIC_BASE_URL: 'https://shop.example/api',
      DOCS_ENABLED: 'false',
    });
    const text = welcome(config, address);
    expect(text).toContain(`Plant Store   ${url}/api\n`);
    expect(text).toContain('Docs          off');
    expect(text).toContain('Token         the value of AUTH_TOKEN\n');
    expect(text).toContain(
      `curl -sS ${url}/api/plants -w '\\n' -H "Authorization: Bearer $AUTH_TOKEN"`,
    );
  });
});
