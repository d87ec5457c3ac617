import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect as connectDataSource } from '../src/database/connect.js';
import { grantStatements } from '../src/database/migrations/grants.js';
import { applyMigrations, awaitMigrations } from '../src/database/migrations/migrate.js';
import { schemaOf } from '../src/resources/feature.js';
import { FEATURES } from '../src/features.js';
import { Plant } from '../src/plants/plant.entity.js';
import { scramVerifier } from '../src/database/migrations/scram-verifier.js';
import type { ServiceAccess } from '../src/database/migrations/service-role.js';
import { createDataSource } from './support/data-source.js';
import { connect } from './support/own-postgres.js';
import { PATIENCE } from './support/patience.js';
import { createMigratedDatabase, createTestDatabase } from './support/test-database.js';
import type { TestDatabase } from './support/test-database.js';
import { startTestService } from './support/test-service.js';
import type { TestService } from './support/test-service.js';

const log = pino({ level: 'silent' });
const { signal } = new AbortController();
const schema = schemaOf(FEATURES);
const PASSWORD = 'a password, with "quotes" and \\ \'more\'';

/** With characters that SQL would take for something else. */
function newRole(): string {
  return `service "${randomBytes(6).toString('hex')}"; --`;
}

function quoted(role: string): string {
  return `"${role.replaceAll('"', '""')}"`;
}

function as(role: string, { url }: TestDatabase): string {
  return Object.assign(new URL(url), {
    username: encodeURIComponent(role),
    password: encodeURIComponent(PASSWORD),
  }).href;
}

async function migrate(database: TestDatabase, access?: ServiceAccess, logger = log) {
  const dataSource = createDataSource(database.url, { poolMax: 2 });
  try {
    await connectDataSource(dataSource, { log: logger, signal });
    await applyMigrations(dataSource, { log: logger, signal }, access);
  } finally {
    await dataSource.destroy();
  }
}

function refused(database: TestDatabase, access: ServiceAccess): Promise<string> {
  return migrate(database, access).then(
    () => 'granted',
    (error: unknown) => String(error),
  );
}

async function privilegesOf(role: string, database: TestDatabase) {
  const rows = await database.query(
    `SELECT relname AS table, array_agg(privilege_type ORDER BY privilege_type) AS privileges
     FROM pg_class, aclexplode(relacl) WHERE grantee = (SELECT oid FROM pg_roles WHERE rolname = $1)
     GROUP BY relname`,
    [role],
  );
  return Object.fromEntries(rows.map(({ table, privileges }) => [table, String(privileges)]));
}

describe('the service, as a role that owns nothing', () => {
  const name = newRole();
  const enough = 'x'.repeat(80_000);
  let database: TestDatabase;
  let service: TestService;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    await database.query('CREATE EXTENSION IF NOT EXISTS pgstattuple');
    await migrate(database, { role: { name, password: PASSWORD }, schema });
    service = await startTestService({
      database: { ...database, url: as(name, database) },
      environment: { DATABASE_MIGRATE_ON_START: 'false' },
    });
  });

  afterAll(async () => {
    await service?.stop();
    await database.query(`DROP OWNED BY ${quoted(name)}; DROP ROLE ${quoted(name)}`);
    await database.drop();
  });

  it('creates, shows, lists, searches, replaces, changes and removes plants', async () => {
    const json = { 'Content-Type': 'application/json' };
    expect((await service.post({ id: 1, name: 'Monstera', tag: 'indoor' })).status).toBe(200);
    expect((await service.request('GET', '/plants/1')).json).toEqual({
      id: 1,
      name: 'Monstera',
      tag: 'indoor',
    });
    expect((await service.request('GET', '/plants?tag=indoor')).json).toMatchObject([{ id: 1 }]);
    expect((await service.request('GET', '/plants?name=onst')).json).toMatchObject([{ id: 1 }]);
    const changes = [
      ['PUT', '{"name":"Aloe"}', json],
      ['PATCH', '{"tag":"dry"}', { 'Content-Type': 'application/merge-patch+json' }],
    ] as const;
    for (const [method, body, headers] of changes) {
      expect((await service.request(method, '/plants/1', { body, headers })).status).toBe(200);
    }
    expect((await service.request('DELETE', '/plants/1')).status).toBe(204);
    expect((await service.request('GET', '/plants/1')).status).toBe(404);
  });

  it('imports and exports', async () => {
    const answer = await service.request('POST', '/plants/import', {
      headers: { 'Content-Type': 'application/x-ndjson' },
      body: '{"id":2,"name":"Ficus"}\n{"id":3,"name":"Palm"}\n',
    });
    expect(answer.status).toBe(200);
    const { text } = await service.request('GET', '/plants/export');
    expect(text).toContain('{"id":2,"name":"Ficus"}\n{"id":3,"name":"Palm"}\n');
    for (const id of [2, 3]) await service.request('DELETE', `/plants/${id}`);
  });

  it('cleans the index of searches by name', async () => {
    expect((await service.post({ id: 4, name: enough })).status).toBe(200);
    await vi.waitFor(async () => {
      const [row] = await database.query(
        "SELECT pending_tuples::int AS plants FROM pgstatginindex('plants_name_search_idx')",
      );
      expect(row).toEqual({ plants: 0 });
    }, PATIENCE);
  });

  it('logs no warning', () => {
    expect(service.log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  it('learns the timeline of the server, by which a replaced primary is told', async () => {
    const session = await connect(as(name, database));
    const { rows } = await session.query(
      'SELECT system_identifier, pg_walfile_name(pg_current_wal_insert_lsn()) FROM pg_control_system()',
    );
    expect(rows).toHaveLength(1);
    await session.end();
  });

  it.each([
    'CREATE TABLE other (id int)',
    'CREATE SCHEMA other',
    'CREATE EXTENSION hstore',
    'ALTER TABLE plants ADD other int',
    'ALTER TABLE plants DISABLE TRIGGER ALL',
    'ALTER TABLE plants OWNER TO CURRENT_USER',
    'DROP TABLE plants',
    'TRUNCATE plants',
    'CREATE INDEX other ON plants (name)',
    'DROP INDEX plants_name_search_idx',
    'REINDEX INDEX plants_name_search_idx',
    'CREATE TRIGGER other BEFORE INSERT ON plants EXECUTE FUNCTION suppress_redundant_updates_trigger()',
    "SELECT gin_clean_pending_list('plants_name_search_idx')",
    'GRANT pg_read_all_data TO CURRENT_USER',
    'CREATE FUNCTION other() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
    'CREATE OR REPLACE FUNCTION clean_plants_name_search_idx() RETURNS bigint LANGUAGE sql AS $$ SELECT 1::bigint $$',
    'CREATE ROLE other',
    'SELECT rolpassword FROM pg_authid',
    "SELECT pg_read_file('/etc/passwd')",
    "COPY plants TO PROGRAM 'cat'",
    "INSERT INTO plant_store_migrations (timestamp, name) VALUES (1, 'other')",
    "UPDATE plant_store_migrations SET name = 'other'",
    'DELETE FROM plant_store_migrations',
  ])('may not %s', async (statement) => {
    const session = await connect(as(name, database));
    const failure: unknown = await session.query(statement).catch((error: unknown) => error);
    await session.end();
    // insufficient_privilege
    expect(failure).toMatchObject({ code: '42501' });
  });

  // PostgreSQL only warns, because the role has some privilege.
  it('may not grant itself more', async () => {
    const before = await privilegesOf(name, database);
    const session = await connect(as(name, database));
    await session.query('GRANT ALL ON plants, plant_store_migrations TO CURRENT_USER');
    await session.end();
    expect(await privilegesOf(name, database)).toEqual(before);
  });

  it('may not become the owner, and others may not call its function', async () => {
    const [owner] = await database.query('SELECT quote_ident(current_user) AS name');
    const session = await connect(as(name, database));
    await expect(session.query(`SET ROLE ${String(owner?.['name'])}`)).rejects.toThrow(
      'permission denied to set role',
    );
    await session.end();
    const [function_] = await database.query(
      `SELECT prosecdef AS definer, proconfig AS settings,
         (SELECT count(*)::int FROM aclexplode(proacl) WHERE grantee = 0) AS public
       FROM pg_proc WHERE oid = to_regprocedure('clean_plants_name_search_idx()')`,
    );
    expect(function_).toEqual({
      definer: true,
      settings: ['search_path=pg_catalog, pg_temp'],
      public: 0,
    });
  });

  it('cleans as the owner does, if the function is missing, or leaves it to creates', async () => {
    await database.query('DROP FUNCTION clean_plants_name_search_idx()');
    const other = await startTestService({
      database: { ...database, url: as(name, database) },
      environment: { DATABASE_MIGRATE_ON_START: 'false' },
    });
    expect((await other.post({ id: 5, name: enough })).status).toBe(200);
    await vi.waitFor(() => {
      expect(other.log).toContainEqual(
        expect.objectContaining({
          level: 30,
          mayClean: false,
          msg: 'the index of searches by name is cleaned by creates',
        }),
      );
    }, PATIENCE);
    await other.stop();
  });
});

describe('the privileges', () => {
  let database: TestDatabase;
  const roles: string[] = [];

  beforeAll(async () => {
    database = await createMigratedDatabase();
  });

  afterAll(async () => {
    for (const role of roles) {
      await database.query(`DROP OWNED BY ${quoted(role)}; DROP ROLE ${quoted(role)}`);
    }
    await database.drop();
  });

  async function createRole(): Promise<string> {
    const role = newRole();
    await database.query(`CREATE ROLE ${quoted(role)} LOGIN`);
    roles.push(role);
    return role;
  }

  it('are those on rows, and for the list of migrations only to read it', async () => {
    const name = await createRole();
    // Too many, from before.
    await database.query(`GRANT ALL ON plants, plant_store_migrations TO ${quoted(name)}`);
    for (const _ of [1, 2])
      await migrate(database, { role: { name, password: undefined }, schema });
    expect(await privilegesOf(name, database)).toMatchObject({
      plants: 'DELETE,INSERT,SELECT,UPDATE',
      plant_store_migrations: 'SELECT',
    });
  });

  it('are fewer where a feature says so', async () => {
    const name = await createRole();
    const privileges = new Map([[Plant, ['SELECT', 'INSERT', 'UPDATE'] as const]]);
    await migrate(database, {
      role: { name, password: undefined },
      schema: { ...schema, privileges },
    });
    expect(await privilegesOf(name, database)).toMatchObject({ plants: 'INSERT,SELECT,UPDATE' });
  });

  it('are granted by a service that migrates at its start', async () => {
    const name = await createRole();
    const service = await startTestService({
      database,
      environment: { DATABASE_SERVICE_ROLE: name },
    });
    await service.stop();
    expect(await privilegesOf(name, database)).toHaveProperty('plants');
  });

  it('need a role that exists, or its password', async () => {
    const role = { name: newRole(), password: undefined };
    expect(await refused(database, { role, schema })).toBe(
      'StartupError: DATABASE_SERVICE_ROLE: there is no such role: create it, or set DATABASE_SERVICE_PASSWORD',
    );
  });

  it('are for another role than that of the owner, and for no superuser', async () => {
    const [row] = await database.query('SELECT current_user AS name');
    const part = await createRole();
    await database.query(`GRANT "${String(row?.['name'])}" TO ${quoted(part)}`);
    for (const name of [String(row?.['name']), part]) {
      expect(await refused(database, { role: { name, password: undefined }, schema })).toMatch(
        /^StartupError: DATABASE_SERVICE_ROLE must be a role that has no part in .*$/,
      );
    }
  });

  it('include no right to create; one that the role has is told', async () => {
    const name = await createRole();
    const lines: string[] = [];
    const logger = pino(
      new Writable({ write: (line, _, done) => (lines.push(String(line)), done()) }),
    );
    await migrate(database, { role: { name, password: undefined }, schema }, logger);
    expect(lines.join()).not.toContain('may create');
    await database.query(`GRANT CREATE ON SCHEMA public TO ${quoted(name)}`);
    await migrate(database, { role: { name, password: undefined }, schema }, logger);
    expect(lines.join()).toContain('DATABASE_SERVICE_ROLE may create in the database');
  });

  it('of an owner who may not create roles end the migrations in one line', async () => {
    const owner = newRole();
    await database.query(
      `CREATE ROLE ${quoted(owner)} LOGIN PASSWORD '${scramVerifier(PASSWORD)}'`,
    );
    const own = await createTestDatabase(`OWNER ${quoted(owner)}`);
    const name = newRole();
    const role = { name, password: PASSWORD };
    expect(await refused({ ...own, url: as(owner, own) }, { role, schema })).toBe(
      'StartupError: DATABASE_SERVICE_ROLE: there is no such role, and the role of DATABASE_URL may not create roles: create it as an administrator',
    );
    await database.query(`CREATE ROLE ${quoted(name)}`);
    roles.push(name);
    // An owner without any other privilege can migrate and grant.
    await migrate({ ...own, url: as(owner, own) }, { role, schema });
    expect(await privilegesOf(name, own)).toHaveProperty('plants');
    await own.query(`DROP OWNED BY ${quoted(name)}`);
    await own.drop();
    await database.query(`DROP ROLE ${quoted(owner)}`);
  });
});

describe('a service that waits for the migrations', () => {
  const hurried = { wait: 400, retry: 20, migrationLock: 5_000, beat: 50, tableLock: 50 };
  const name = newRole();
  let database: TestDatabase;
  let owner: DataSource;
  let waiting: DataSource;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(`CREATE ROLE ${quoted(name)} LOGIN PASSWORD '${scramVerifier(PASSWORD)}'`);
    owner = createDataSource(database.url, { poolMax: 2 });
    waiting = createDataSource(as(name, database));
    for (const each of [owner, waiting]) await connectDataSource(each, { log, signal });
  });

  afterAll(async () => {
    vi.restoreAllMocks();
    for (const each of [owner, waiting]) await each.destroy();
    await database.query(`DROP OWNED BY ${quoted(name)}; DROP ROLE ${quoted(name)}`);
    await database.drop();
  });

  it('sees signs of life of the role that migrates, until it may read the list', async () => {
    const [first] = owner.migrations;
    const prototype = Object.getPrototypeOf(first) as typeof first;
    const up = prototype!.up.bind(first);
    vi.spyOn(prototype!, 'up').mockImplementation(async (runner) => {
      // Longer than a service waits without a sign of life.
      await runner.query('SELECT pg_sleep(1.5)');
      await up(runner);
    });
    const limits = hurried;
    const migrating = applyMigrations(
      owner,
      { log, signal, limits },
      { role: { name, password: undefined }, schema },
    );
    await Promise.all([migrating, awaitMigrations(waiting, { log, signal, limits })]);
  });

  it('says that it may not read the list, if nobody grants it', async () => {
    await database.query(`REVOKE ALL ON plant_store_migrations FROM ${quoted(name)}`);
    await expect(awaitMigrations(waiting, { log, signal, limits: hurried })).rejects.toThrow(
      /cannot read the applied migrations: permission denied for table plant_store_migrations$/,
    );
  });
});

it('writes statements in which every name is quoted', () => {
  expect(
    grantStatements({
      role: 'a"b',
      database: 'Plants 1',
      schema: 'public',
      tables: [
        { path: '"list"', schema: undefined, privileges: ['SELECT'] },
        { path: '"shop"."orders"', schema: 'shop', privileges: ['SELECT', 'INSERT'] },
      ],
      functions: ['move_orders()'],
    }),
  ).toEqual([
    'GRANT CONNECT ON DATABASE "Plants 1" TO "a""b"',
    'GRANT USAGE ON SCHEMA "public" TO "a""b"',
    'GRANT USAGE ON SCHEMA "shop" TO "a""b"',
    'REVOKE ALL ON "list" FROM "a""b"',
    'GRANT SELECT ON "list" TO "a""b"',
    'REVOKE ALL ON "shop"."orders" FROM "a""b"',
    'GRANT SELECT, INSERT ON "shop"."orders" TO "a""b"',
    'GRANT EXECUTE ON FUNCTION move_orders() TO "a""b"',
  ]);
});
