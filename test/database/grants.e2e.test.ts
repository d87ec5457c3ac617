import { readFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect } from '../../packages/framework/src/database/connect.js';
import {
  applyMigrations,
  awaitMigrations,
} from '../../packages/framework/src/database/migrations/migrate.js';
import {
  scramVerifier,
  grantStatements,
} from '../../packages/framework/src/database/migrations/service-role.js';
import type { ServiceAccess } from '../../packages/framework/src/database/migrations/service-role.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { createDataSource, SCHEMA } from '../support/data-source.js';
import {
  dropRole,
  grantsOf,
  migrate,
  newRole,
  PASSWORD,
  privilegesOf,
  quoted,
  urlAs,
} from '../support/roles.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { startTestService } from '../support/test-service.js';

function refused(database: TestDatabase, access: ServiceAccess): Promise<string> {
  return migrate(database, access).then(
    () => 'granted',
    (error: unknown) => String(error),
  );
}

function accessOf(name: string, password?: string): ServiceAccess {
  return { role: { name, password }, schema: SCHEMA };
}

describe('the privileges', () => {
  let database: TestDatabase;
  const roles: string[] = [];

  beforeAll(async () => {
    database = await createMigratedDatabase();
  });

  afterAll(async () => {
    for (const role of roles) {
      await dropRole(role, database);
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
    for (const _ of [1, 2]) await migrate(database, accessOf(name));
    expect(await privilegesOf(name, database)).toMatchObject({
      plants: 'DELETE,INSERT,SELECT,UPDATE',
      plant_store_migrations: 'SELECT',
    });
  });

  it('are exactly those that docs/operations.md lists', async () => {
    const name = await createRole();
    await migrate(database, accessOf(name));
    const page = await readFile('docs/operations.md', 'utf8');
    const [, table = ''] = /gets exactly this:\n\n([^]*?)\n\n/.exec(page) ?? [];
    const rows = table.split('\n').slice(2);
    const listed = rows.flatMap((row) => {
      const [, on = '', privileges = ''] = row.replaceAll('`', '').split('|');
      const sorted = (privileges.match(/[A-Z]+/g) ?? []).toSorted().join(', ');
      return on.split(',').map((each) => [each.trim(), sorted] as const);
    });
    expect(Object.fromEntries(listed)).toEqual(await grantsOf(name, database));
  });

  it('are fewer where a module says so', async () => {
    const name = await createRole();
    const privileges = new Map([[Plant, ['SELECT', 'INSERT', 'UPDATE'] as const]]);
    await migrate(database, { ...accessOf(name), schema: { ...SCHEMA, privileges } });
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
    expect(await refused(database, accessOf(newRole()))).toBe(
      'StartupError: DATABASE_SERVICE_ROLE: there is no such role: create it, or set DATABASE_SERVICE_PASSWORD',
    );
  });

  it('are for another role than that of the owner, and for no superuser', async () => {
    const [row] = await database.query('SELECT current_user AS name');
    const part = await createRole();
    await database.query(`GRANT "${String(row?.['name'])}" TO ${quoted(part)}`);
    for (const name of [String(row?.['name']), part]) {
      expect(await refused(database, accessOf(name))).toMatch(
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
    await migrate(database, accessOf(name), logger);
    expect(lines.join()).not.toContain('may create');
    await database.query(`GRANT CREATE ON SCHEMA public TO ${quoted(name)}`);
    await migrate(database, accessOf(name), logger);
    expect(lines.join()).toContain('DATABASE_SERVICE_ROLE may create in the database');
  });

  it('of an owner who may not create roles end the migrations in one line', async () => {
    const owner = newRole();
    await database.query(
      `CREATE ROLE ${quoted(owner)} LOGIN PASSWORD '${scramVerifier(PASSWORD)}'`,
    );
    const own = await createTestDatabase(`OWNER ${quoted(owner)}`);
    const name = newRole();
    const access = accessOf(name, PASSWORD);
    expect(await refused({ ...own, url: urlAs(owner, own) }, access)).toBe(
      'StartupError: DATABASE_SERVICE_ROLE: there is no such role, and the role of DATABASE_URL may not create roles: create it as an administrator',
    );
    await database.query(`CREATE ROLE ${quoted(name)}`);
    roles.push(name);
    // An owner without any other privilege can migrate and grant.
    await migrate({ ...own, url: urlAs(owner, own) }, access);
    expect(await privilegesOf(name, own)).toHaveProperty('plants');
    await own.query(`DROP OWNED BY ${quoted(name)}`);
    await own.drop();
    await database.query(`DROP ROLE ${quoted(owner)}`);
  });
});

describe('a service that waits for the migrations', () => {
  const log = pino({ level: 'silent' });
  const { signal } = new AbortController();
  const hurried = { wait: 3_000, retry: 20, migrationLock: 5_000, beat: 50, tableLock: 50 };
  const name = newRole();
  let database: TestDatabase;
  let owner: DataSource;
  let waiting: DataSource;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(`CREATE ROLE ${quoted(name)} LOGIN PASSWORD '${scramVerifier(PASSWORD)}'`);
    owner = createDataSource(database.url, { poolMax: 2 });
    waiting = createDataSource(urlAs(name, database));
    for (const each of [owner, waiting]) await connect(each, { log, signal });
  });

  afterAll(async () => {
    vi.restoreAllMocks();
    for (const each of [owner, waiting]) await each.destroy();
    await dropRole(name, database);
    await database.drop();
  });

  it('sees signs of life of the role that migrates, until it may read the list', async () => {
    const [first] = owner.migrations;
    const prototype = Object.getPrototypeOf(first) as typeof first;
    const up = prototype!.up.bind(first);
    vi.spyOn(prototype!, 'up').mockImplementation(async (runner) => {
      // Longer than a service waits without a sign of life.
      await runner.query('SELECT pg_sleep(4)');
      await up(runner);
    });
    const limits = hurried;
    const migrating = applyMigrations(owner, { log, signal, limits }, accessOf(name));
    await Promise.all([migrating, awaitMigrations(waiting, { log, signal, limits })]);
  });

  it('says that it may not read the list, if nobody grants it', async () => {
    await database.query(`REVOKE ALL ON plant_store_migrations FROM ${quoted(name)}`);
    await expect(awaitMigrations(waiting, { log, signal, limits: hurried })).rejects.toThrow(
      /cannot read the applied migrations: permission denied for table plant_store_migrations$/,
    );
  });

  it('says that row security hides the list, which a provider has switched on', async () => {
    await database.query(`GRANT SELECT ON plant_store_migrations TO ${quoted(name)}`);
    await database.query('ALTER TABLE plant_store_migrations ENABLE ROW LEVEL SECURITY');
    const bypass = `ALTER ROLE ${quoted(name)} BYPASSRLS`;
    await expect(awaitMigrations(waiting, { log, signal, limits: hurried })).rejects.toThrow(
      `cannot read the applied migrations: row security hides them: ${bypass}, or make policies for all tables`,
    );
    await database.query(bypass);
    await awaitMigrations(waiting, { log, signal, limits: hurried });
  });
});

it('writes statements in which every name is quoted', () => {
  expect(
    grantStatements(
      'a"b',
      {
        database: 'Plants 1',
        schema: 'public',
        functions: ['move_orders()'],
        sequences: ['shop.orders_id_seq'],
      },
      [
        { path: '"list"', schema: undefined, privileges: ['SELECT'] },
        { path: '"shop"."orders"', schema: 'shop', privileges: ['SELECT', 'INSERT'] },
      ],
    ),
  ).toEqual([
    'GRANT CONNECT ON DATABASE "Plants 1" TO "a""b"',
    'GRANT USAGE ON SCHEMA "public" TO "a""b"',
    'GRANT USAGE ON SCHEMA "shop" TO "a""b"',
    'REVOKE ALL ON "list" FROM "a""b"',
    'GRANT SELECT ON "list" TO "a""b"',
    'REVOKE ALL ON "shop"."orders" FROM "a""b"',
    'GRANT SELECT, INSERT ON "shop"."orders" TO "a""b"',
    'GRANT EXECUTE ON FUNCTION move_orders() TO "a""b"',
    'GRANT USAGE ON SEQUENCE shop.orders_id_seq TO "a""b"',
  ]);
});
