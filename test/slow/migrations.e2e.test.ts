import { escapeLiteral } from 'pg';
import { pino } from 'pino';
import type { DataSource, MigrationInterface } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ADVISORY_LOCKS } from '../../packages/framework/src/database/advisory-locks.js';
import { createApp } from '../../packages/framework/src/app/app.setup.js';
import { readConfig, withDatabase } from '../../packages/framework/src/config/config.js';
import { connect, STARTUP_LIMITS } from '../../packages/framework/src/database/connect.js';
import { DATABASE_LIMITS } from '../../packages/framework/src/database/limits.js';
import { describeError } from '../../packages/framework/src/observability/describe-error.js';
import { generateMigration } from '../../packages/framework/src/database/migrations/migration-file.js';
import {
  applyMigrations,
  awaitMigrations,
  revertMigration,
} from '../../packages/framework/src/database/migrations/migrate.js';
import { StartupError } from '../../packages/framework/src/errors/startup.error.js';
import { HTTP_LIMITS } from '../../packages/framework/src/http/server/limits.js';
import { Metrics } from '../../packages/framework/src/observability/metrics.js';
import { NO_TRACER } from '../../packages/framework/src/observability/tracer.js';
import { tableNeedsOf } from '../../packages/framework/src/database/table-needs.js';
import { Resources } from '../../packages/framework/src/resources/resources.js';
import { dataSourceOf } from '../../packages/framework/src/database/data-source.js';
import { createDataSource } from '../support/data-source.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { dropRole, newRole, PASSWORD, quoted, urlAs } from '../support/roles.js';
import { searchStatement } from '../support/search-statement.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { lastingPort } from '../support/lasting-port.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import { AppModule } from '../../src/app.module.js';
import { IDENTITY } from '../../src/identity.js';
import { PlantChange } from '../../src/plants/plant-change.entity.js';

const log = pino({ level: 'silent' });
const { signal } = new AbortController();
const HURRIED = { wait: 300, retry: 20, migrationLock: 200, beat: 20, tableLock: 50 };

let database: TestDatabase;
let dataSource: DataSource;

beforeEach(async () => {
  database = await createTestDatabase();
  dataSource = createDataSource(database.url, { poolMax: 3 });
  await connect(dataSource, { log, signal });
});

afterEach(async () => {
  vi.restoreAllMocks();
  if (dataSource.isInitialized) await dataSource.destroy();
  await database.drop();
});

describe('migrations', () => {
  it('leave nothing to generate: run `npm run migration:generate` when this fails', async () => {
    await applyMigrations(dataSource, { log, signal });
    expect(await generateMigration(dataSource, 'Drift', 1)).toBeUndefined();
  });

  it('are asked for where the start of the service would warn of the records of changes', async () => {
    await applyMigrations(dataSource, { log, signal });
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
    const { check } = tableNeedsOf(PlantChange);
    await check?.(dataSource, logger);
    expect(lines).toEqual([]);
    await dataSource.query('DROP FUNCTION open_plant_changes() CASCADE');
    await check?.(dataSource, logger);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ reason: 'call `addIncarnations` in a migration' }),
    ]);
    expect(lines[0]).toContain('changes of plants ');
  });

  it.each([
    ['public', 'make it the owner of the database, or GRANT CREATE ON SCHEMA public TO'],
    ['attic', 'GRANT CREATE ON SCHEMA attic TO'],
  ])('are not begun by a role without CREATE on %s, which is told so', async (schema, need) => {
    const role = newRole();
    const { host, pathname } = new URL(database.url);
    for (const statement of [
      `CREATE ROLE ${quoted(role)} LOGIN PASSWORD ${escapeLiteral(PASSWORD)}`,
      `CREATE SCHEMA IF NOT EXISTS ${schema}`,
      `GRANT USAGE ON SCHEMA ${schema} TO ${quoted(role)}`,
      `ALTER DATABASE ${pathname.slice(1)} SET search_path = ${schema}`,
    ]) {
      await database.query(statement);
    }
    const guest = createDataSource(urlAs(role, database), { poolMax: 3 });
    try {
      await connect(guest, { log, signal });
      await expect(applyMigrations(guest, { log, signal })).rejects.toThrow(
        `DATABASE_URL: the role may not create tables at ${host}: ${need} ${quoted(role)}`,
      );
    } finally {
      await guest.destroy();
      await dropRole(role, database);
    }
  });

  // `generateMigration` passes over an index with `synchronize: false`.
  it('create every index that an entity declares, and one for each foreign key', async () => {
    await applyMigrations(dataSource, { log, signal });
    const declared = dataSource.entityMetadatas.flatMap(({ ownIndices }) =>
      ownIndices.map(({ name }) => name),
    );
    expect(
      await database.query(
        'SELECT name FROM unnest($1::text[]) AS declared (name) WHERE to_regclass(quote_ident(name)) IS NULL',
        [declared],
      ),
    ).toEqual([]);
    expect(
      await database.query(
        `SELECT conname AS name FROM pg_constraint
         WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND NOT EXISTS (
           SELECT FROM pg_index WHERE indrelid = conrelid AND indisvalid AND indkey[0] = conkey[1]
         )`,
      ),
    ).toEqual([]);
  });

  it('create every constraint and unique index that a resource names', async () => {
    await applyMigrations(dataSource, { log, signal });
    const of = vi.spyOn(Resources.prototype, 'of');
    const config = withDatabase(readConfig(IDENTITY, { AUTH_TOKEN: TOKEN }), database.url);
    const observability = { logger: log, metrics: new Metrics(IDENTITY), tracer: NO_TRACER };
    const app = await createApp(AppModule, config, observability, HTTP_LIMITS);
    const named = of.mock.calls.flatMap(([, { constraints = {} }]) => Object.keys(constraints));
    await app.close();
    expect(of).toHaveBeenCalled();
    expect(
      await database.query(
        `SELECT name FROM unnest($1::text[]) AS named (name) WHERE to_regclass(quote_ident(name)) IS NULL
         AND NOT EXISTS (SELECT FROM pg_constraint WHERE conname = name)`,
        [named],
      ),
    ).toEqual([]);
  });

  it.each([
    ['without a sign of life', {}],
    ['with signs of life', { beat: 1 }],
  ])('cause no warning of PostgreSQL, %s', async (_, limits) => {
    const postgres = await OwnPostgres.start({ logging_collector: 'on' });
    const other = createDataSource(postgres.url);
    try {
      await connect(other, { log, signal });
      await applyMigrations(other, { log, signal, limits: { ...STARTUP_LIMITS, ...limits } });
      const [row] = await postgres.query('SELECT pg_read_file(pg_current_logfile()) AS log');
      expect(row?.['log']).toContain('ready to accept connections');
      expect(row?.['log']).not.toContain('WARNING');
    } finally {
      await other.destroy();
      await postgres.stop();
    }
  });

  it('are applied once when many instances start at once', async () => {
    const services = await Promise.all([1, 2, 3, 4].map(() => startTestService({ database })));
    const applied = services.flatMap((service) =>
      service.log.filter(({ applied: names }) => (names as string[] | undefined)?.length),
    );
    expect(applied).toHaveLength(1);
    expect(await database.query('SELECT name FROM plant_store_migrations')).toHaveLength(
      dataSource.migrations.length,
    );
    await Promise.all(services.map((service) => service.stop()));
  });

  it('may take longer than the statement of a request, back as well', async () => {
    await applyMigrations(dataSource, { log, signal });
    const { options } = dataSource;
    const hurried = dataSourceOf({
      ...options,
      extra: { ...options.extra, limits: { ...DATABASE_LIMITS, reply: 300 } },
    });
    await connect(hurried, { log, signal });
    const last = Object.getPrototypeOf(hurried.migrations.at(-1)) as MigrationInterface;
    const down = last.down.bind(last);
    vi.spyOn(last, 'down').mockImplementation(async (runner) => {
      expect(await runner.query('SHOW statement_timeout')).toEqual([{ statement_timeout: '0' }]);
      await runner.query('SELECT pg_sleep(0.6)');
      await down(runner);
    });
    await revertMigration(hurried, { log, signal });
    expect(await database.query('SELECT name FROM plant_store_migrations')).toHaveLength(
      hurried.migrations.length - 1,
    );
    await hurried.destroy();
  });

  it.each([
    ['applied', applyMigrations],
    ['taken back', revertMigration],
  ])('wait a bounded time for another instance before they are %s', async (_, migrate) => {
    if (migrate === revertMigration) await applyMigrations(dataSource, { log, signal });
    await dataSource.transaction(async (manager) => {
      await manager.query(`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.migrations})`);
      await expect(migrate(dataSource, { log, signal, limits: HURRIED })).rejects.toThrow(
        /^DATABASE_URL: [\d.]+:\d+: the migrations failed: another instance is migrating and shows no sign of life$/,
      );
      const controller = new AbortController();
      const waiting = migrate(dataSource, { log, signal: controller.signal });
      setTimeout(() => controller.abort(), 50);
      await expect(waiting).rejects.toThrow(/aborted/);
    });
    await migrate(dataSource, { log, signal, limits: HURRIED });
  });

  it('that cannot be looked at end the start in words, without a statement', async () => {
    await database.query('CREATE TABLE plant_store_migrations (other int)');
    for (const migrate of [applyMigrations, awaitMigrations]) {
      const failure = await migrate(dataSource, { log, signal }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(StartupError);
      expect(String(failure)).toMatch(/cannot read the applied migrations: column "name"/);
      expect(String(failure)).not.toMatch(/select/i);
    }
  });

  it('are all or nothing', async () => {
    await database.query('CREATE TABLE plants (id int)');
    await expect(applyMigrations(dataSource, { log, signal })).rejects.toThrow(
      /^DATABASE_URL: [\d.]+:\d+: the migrations failed: /,
    );
    expect(await database.query("SELECT to_regclass('plant_store_migrations') AS found")).toEqual([
      { found: null },
    ]);
  });
});

describe('a database', () => {
  const name = () => new URL(database.url).pathname.slice(1);
  const elsewhere = 'CREATE SCHEMA extensions; CREATE EXTENSION pg_trgm SCHEMA extensions';
  const withoutPublic = () =>
    `CREATE SCHEMA app; ALTER DATABASE ${name()} SET search_path = missing, app`;

  it.each([
    ['with pg_trgm in another schema', () => elsewhere],
    ['with a search path without public', withoutPublic],
    ['with both', () => `${elsewhere}; ${withoutPublic()}`],
    ['with pg_trgm in public only', () => `CREATE EXTENSION pg_trgm; ${withoutPublic()}`],
    [
      'with pg_trgm in a schema whose name needs quotes',
      () => elsewhere.replaceAll('extensions', '"Add-ons"'),
    ],
  ])('%s serves searches by the index', async (_, statements) => {
    await database.query(
      `${statements()}; ALTER DATABASE ${name()} SET enable_seqscan = off; ALTER DATABASE ${name()} SET enable_indexscan = off`,
    );
    const service = await startTestService({ database });
    expect((await service.post({ id: 1, name: 'Monstera' })).status).toBe(200);
    const found = await service.request('GET', '/plants?name=onster');
    expect(found.text).toContain('"Monstera"');
    await service.stop();
    const { text, values } = searchStatement('onster');
    const plan = await database.query(`EXPLAIN (COSTS off) ${text}`, values);
    expect(JSON.stringify(plan)).toContain('plants_name_search_idx');
    expect(service.log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  it('with another instance in a schema behind its own leaves that instance as it is', async () => {
    const first = await startTestService({ database });
    expect((await first.post({ id: 1, name: 'theirs' })).status).toBe(200);
    await first.stop();
    const objectsIn = async (schema: string) => {
      const rows = await database.query(
        `SELECT relname AS object, oid FROM pg_class WHERE relnamespace = '${schema}'::regnamespace
         UNION ALL SELECT proname, oid FROM pg_proc WHERE pronamespace = '${schema}'::regnamespace
           AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
         ORDER BY object, oid`,
      );
      return rows.map(({ object, oid }) => ({ object: String(object), oid }));
    };
    const rowsOf = (table: string) => database.query(`SELECT * FROM ${table} ORDER BY 1`);
    const [theirs, changes] = [await objectsIn('public'), await rowsOf('public.plant_changes')];
    await database.query(
      `CREATE SCHEMA own; ALTER DATABASE ${name()} SET search_path = own, public`,
    );
    const second = await startTestService({ database });
    expect((await second.request('GET', '/plants/1')).status).toBe(404);
    expect((await second.post({ id: 1, name: 'ours' })).status).toBe(200);
    expect((await second.request('GET', '/changes')).json).toMatchObject([
      { plant: { name: 'ours' } },
    ]);
    expect((await second.request('GET', '/plants?name=our')).json).toMatchObject([{ id: 1 }]);
    await second.stop();
    const names = (objects: readonly { readonly object: string }[]) =>
      objects.map(({ object }) => object);
    expect(names(await objectsIn('own'))).toEqual(names(theirs));
    const ours = createDataSource(database.url);
    await connect(ours, { log, signal });
    for (const _ of ours.migrations) await revertMigration(ours, { log, signal });
    await ours.destroy();
    expect(names(await objectsIn('own'))).not.toContain('plants');
    expect(await objectsIn('public')).toEqual(theirs);
    expect(await rowsOf('public.plants')).toMatchObject([{ name: 'theirs' }]);
    expect(await rowsOf('public.plant_changes')).toEqual(changes);
  });

  it('whose tables are behind a schema that was created later, with the name of the role, is not replaced by empty tables', async () => {
    const first = await startTestService({ database });
    expect((await first.post({ id: 1, name: 'here' })).status).toBe(200);
    await first.stop();
    await database.query('CREATE SCHEMA AUTHORIZATION CURRENT_USER');
    for (const DATABASE_MIGRATE_ON_START of ['true', 'false']) {
      const start = startTestService({ database, environment: { DATABASE_MIGRATE_ON_START } });
      await expect(start).rejects.toThrow(
        /^DATABASE_URL: [\d.]+:\d+: the schema (\S+) has no tables of this service, but public behind it has: to go on with these, ALTER ROLE \1 SET search_path = public; to begin with empty tables, SET search_path = \1, public$/,
      );
    }
    await database.query(`ALTER DATABASE ${name()} SET search_path = public`);
    const kept = await startTestService({ database });
    expect((await kept.request('GET', '/plants/1')).json).toMatchObject({ name: 'here' });
    await kept.stop();
    const [row] = await database.query('SELECT quote_ident(current_user) AS role');
    const own = String(row?.['role']);
    await database.query(`ALTER DATABASE ${name()} SET search_path = ${own}, public`);
    const empty = await startTestService({ database });
    expect((await empty.request('GET', '/plants/1')).status).toBe(404);
    expect(empty.log).toContainEqual(
      expect.objectContaining({ level: 40, schema: own, other: 'public' }),
    );
    await empty.stop();
  });

  it.each(["''", 'missing'])('with the search path %s ends the start in one line', async (path) => {
    await database.query(`ALTER DATABASE ${name()} SET search_path = ${path}`);
    await expect(startTestService({ database })).rejects.toThrow(/^DATABASE_URL: .*search_path.*$/);
  });
});

describe('a service that must not migrate', () => {
  it('waits for the privileges on the schema, which who migrates may grant', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`ALTER DATABASE ${name} SET search_path = later`);
    const waiting = createDataSource(database.url);
    await connect(waiting, { log, signal });
    await expect(awaitMigrations(waiting, { log, signal, limits: HURRIED })).rejects.toThrow(
      /migrations are pending/,
    );
    await waiting.destroy();
  });

  const environment = { DATABASE_MIGRATE_ON_START: 'false' };

  it('waits for somebody else, and is not ready before', async () => {
    const port = await lastingPort();
    const starting = startTestService({
      database,
      environment: { ...environment, MANAGEMENT_PORT: String(port) },
    });
    const ready = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/health/ready`);
      return { status: response.status, body: await response.json() };
    };
    await vi.waitFor(
      async () =>
        expect(await ready()).toEqual({
          status: 503,
          body: { status: 'unavailable', reason: 'waiting for the migrations' },
        }),
      PATIENCE,
    );
    await applyMigrations(dataSource, { log, signal });
    const service = await starting;
    expect((await ready()).status).toBe(200);
    expect((await service.post({ id: 1, name: 'a' })).status).toBe(200);
    await service.stop();
  });

  it('gives up after a bounded time, and says why', async () => {
    await expect(awaitMigrations(dataSource, { log, signal, limits: HURRIED })).rejects.toThrow(
      /migrations are pending and .*CreatePlants1763683200000/,
    );
    expect(await database.query("SELECT to_regclass('plants') AS found")).toEqual([
      { found: null },
    ]);
  });

  it('can be told to stop waiting', async () => {
    const controller = new AbortController();
    const waiting = awaitMigrations(dataSource, { log, signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toThrow(/aborted/);
  });
});

describe('connecting', () => {
  it('waits a bounded time for the server, and says so', async () => {
    const start = performance.now();
    const failing = createDataSource('postgres://u:secret@127.0.0.1:1/d');
    await expect(connect(failing, { log, signal, limits: HURRIED })).rejects.toThrow(
      /^DATABASE_URL: 127\.0\.0\.1:1 did not respond within 0\.3 s: connect ECONNREFUSED/,
    );
    expect(performance.now() - start).toBeLessThan(STARTUP_LIMITS.wait);
  });

  it.each([
    ['ENOTFOUND', true],
    ['EAI_AGAIN', true],
    ['ECONNRESET', true],
    [undefined, true],
    ['CERT_HAS_EXPIRED', false],
    ['SELF_SIGNED_CERT_IN_CHAIN', false],
    ['ERR_TLS_CERT_ALTNAME_INVALID', false],
    ['EPROTO', false],
  ])('knows whether to wait after a failure with the code %s: %s', async (code, waits) => {
    const failing = createDataSource('postgres://u:secret@db.example:5/d');
    const failure = Object.assign(new Error('failed'), code && { code });
    vi.spyOn(failing, 'initialize').mockRejectedValue(failure);
    await expect(connect(failing, { log, signal, limits: HURRIED })).rejects.toThrow(
      waits
        ? 'DATABASE_URL: db.example:5 did not respond within 0.3 s: failed'
        : 'DATABASE_URL: cannot connect to db.example:5: failed',
    );
  });

  it('names every address that it tried', () => {
    const tried = new AggregateError([new Error('connect a:1'), new Error('connect b:1')]);
    expect(describeError(tried)).toBe('connect a:1, connect b:1');
  });

  it.each([
    ['a wrong password', (url: URL) => (url.password = 'wrong-secret'), /password authentication/],
    ['a database that is not there', (url: URL) => (url.pathname = '/nothing'), /does not exist/],
    ['no TLS', (url: URL) => (url.search = '?sslmode=verify-full'), /does not support SSL/],
    ['a file that is not there', (url: URL) => (url.search = '?sslrootcert=/none'), /ENOENT.*none/],
    ['an impossible port', (url: URL) => (url.search = '?port=99999'), /port/i],
  ])('does not wait where that is no use: %s', async (_, change, reason) => {
    const url = new URL(database.url);
    change(url);
    const failure: unknown = await connect(createDataSource(url.href), { log, signal }).catch(
      (error) => error,
    );
    expect(failure).toBeInstanceOf(StartupError);
    const { message } = failure as StartupError;
    expect(message).toMatch(/^DATABASE_URL: (cannot connect to (127\.0\.0\.1|localhost):\d+: )?/);
    expect(message).not.toContain('did not respond');
    expect(message).toMatch(reason);
    expect(message).not.toContain(`"${url.username}"`);
    expect(message).not.toContain(url.password);
  });
});
