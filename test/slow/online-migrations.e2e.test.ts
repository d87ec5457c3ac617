import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { pino } from 'pino';
import type { DataSource } from 'typeorm';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { searchStatement } from '../support/search-statement.js';
import { connect, STARTUP_LIMITS } from '../../packages/framework/src/database/connect.js';
import {
  applyMigrations,
  awaitMigrations,
  revertMigration,
} from '../../packages/framework/src/database/migrations/migrate.js';
import { dataSourceOf } from '../../packages/framework/src/database/data-source.js';
import { createDataSource } from '../support/data-source.js';
import { issue } from '../support/issued-tokens.js';
import { LockCheck } from '../support/lock-check.js';
import { connect as connectClient } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';

const { signal } = new AbortController();

/** The indexes of databases that were made before the search was one statement. */
const FORMER_INDEXES = `CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE INDEX plants_tag_idx ON plants (hashtextextended(tag, 0), id) WHERE tag IS NOT NULL;
  CREATE INDEX plants_name_idx ON plants
    USING gin (translate(upper(lower(left(name, 1000) COLLATE "und-x-icu")), 'Σ', 'Ϲ') gin_trgm_ops);
  CREATE INDEX plants_long_name_idx ON plants (id) WHERE length(name) > 1000`;

const SOME_PLANTS =
  "INSERT INTO plants SELECT n, 'Plant ' || n, 'x' FROM generate_series(1, 100) AS n";

let database: TestDatabase;
let dataSource: DataSource;
let lines: Record<string, unknown>[];
let log: pino.Logger;

beforeEach(async () => {
  lines = [];
  log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  database = await createTestDatabase();
  dataSource = await connected(createDataSource(database.url, { poolMax: 3 }));
});

afterEach(async () => {
  vi.restoreAllMocks();
  await dataSource.destroy();
  await database.drop();
});

async function connected(source: DataSource): Promise<DataSource> {
  await connect(source, { log, signal });
  return source;
}

type MigrationClass = new () => MigrationInterface;

/** With the migrations of the service, and others. */
function including(...others: readonly MigrationClass[]): Promise<DataSource> {
  const { options } = dataSource;
  const all = [...(options.migrations as MigrationClass[]), ...others];
  return connected(dataSourceOf({ ...options, migrations: all }));
}

/** A migration of one statement. */
function migration(statement: string, isInTransaction = true): MigrationClass {
  class Example1900000000000 implements MigrationInterface {
    readonly name = 'Example1900000000000';
    async up(session: QueryRunner): Promise<void> {
      await session.query(statement);
    }
    async down(): Promise<void> {}
  }
  if (isInTransaction) return Example1900000000000;
  return class extends Example1900000000000 {
    readonly transaction = false;
  };
}

async function revertAllButFirst(): Promise<void> {
  for (const _ of dataSource.migrations.slice(1)) {
    await revertMigration(dataSource, { log, signal });
  }
}

/** Makes the database as release 1.0.0 left it, with plants. */
async function becomeOld(): Promise<void> {
  await applyMigrations(dataSource, { log, signal });
  await revertAllButFirst();
  expect(await database.query('SELECT name FROM plant_store_migrations')).toEqual([
    { name: 'CreatePlants1763683200000' },
  ]);
  await database.query(SOME_PLANTS);
}

/** A client whose transaction has written a plant, and is open. */
async function openWriter(setting = ''): Promise<Client> {
  const writer = await connectClient(database.url);
  await writer.query(`${setting}; BEGIN; INSERT INTO plants VALUES (1000, 'Aloe')`);
  return writer;
}

async function indexes(): Promise<unknown[]> {
  const rows = await database.query(
    `SELECT relname AS name, indisvalid AS valid FROM pg_index JOIN pg_class ON oid = indexrelid
       WHERE indrelid = 'plants'::regclass ORDER BY name`,
  );
  return rows.map(({ name, valid }) => (valid === true ? name : `${String(name)}, invalid`));
}

const INDEXES = ['plants_name_search_idx', 'plants_pkey', 'plants_tag_idx', 'plants_tag_sort_idx'];

/** Waits until the server builds an index of plants, and returns the session. */
async function builder(): Promise<number> {
  return vi.waitFor(
    async () => {
      const [row] = await database.query(
        "SELECT pid FROM pg_stat_progress_create_index WHERE datname = current_database() AND phase LIKE 'waiting for writers%'",
      );
      expect(row).toBeDefined();
      return Number(row?.['pid']);
    },
    { timeout: PATIENCE, interval: 10 },
  );
}

describe('every migration', () => {
  const fill = `DO $$ BEGIN
    IF to_regclass('plants') IS NOT NULL THEN ${SOME_PLANTS} ON CONFLICT DO NOTHING; END IF;
  END $$`;

  async function offencesOf(
    source: DataSource,
    migrate = () => applyMigrations(source, { log, signal }),
  ): Promise<readonly string[]> {
    const check = await LockCheck.on(database.url, (client) => client.query(fill));
    try {
      check.watch(source.migrations);
      await migrate();
      return check.offences;
    } finally {
      await check.end();
    }
  }

  it('leaves a table with rows to its writers', async () => {
    expect(await offencesOf(dataSource)).toEqual([]);
  });

  it('leaves it to them when it is taken back, unless it drops the table', async () => {
    await applyMigrations(dataSource, { log, signal });
    expect(await offencesOf(dataSource, revertAllButFirst)).toEqual([]);
  });

  const WORKS = [expect.stringMatching(/works while it locks plants$/)];
  const WAITS = [expect.stringMatching(/waits for the writers of plants$/)];

  it.each([
    ['CREATE INDEX a ON plants (name)', true, WORKS],
    ['CREATE INDEX a ON plants (name)', false, WAITS],
    ['ALTER TABLE plants ADD COLUMN a uuid DEFAULT gen_random_uuid()', true, WORKS],
    ['ALTER TABLE plants ALTER COLUMN tag SET NOT NULL', true, WORKS],
    ['ALTER TABLE plants ALTER COLUMN name TYPE varchar(9)', true, WORKS],
    ["ALTER TABLE plants ADD COLUMN a text; UPDATE plants SET a = ''", true, WORKS],
    ['ALTER TABLE plants ADD COLUMN a text', false, WAITS],
    ['ALTER TABLE plants ADD COLUMN a text', true, []],
    ['ALTER TABLE plants ADD COLUMN a int NOT NULL DEFAULT 7', true, []],
    ['ALTER TABLE plants ADD CHECK (id > 0) NOT VALID', true, []],
    ['CREATE TABLE a (id int); INSERT INTO a VALUES (1)', true, []],
    ['CREATE INDEX CONCURRENTLY a ON plants (name)', false, []],
  ])(
    'that does not is found, and no other: %s, in a transaction: %s',
    async (sql, isInTransaction, offences) => {
      const source = await including(migration(sql, isInTransaction));
      expect(await offencesOf(source)).toEqual(offences);
      await source.destroy();
    },
  );
});

describe('a migration that needs a lock', () => {
  it('gives way to those who write, and tries again', async () => {
    await applyMigrations(dataSource, { log, signal });
    const source = await including(migration('ALTER TABLE plants ADD COLUMN a text'));
    const [reader, writer] = [await connectClient(database.url), await connectClient(database.url)];
    await reader.query('BEGIN; SELECT count(*) FROM plants');
    const limits = { ...STARTUP_LIMITS, tableLock: 200 };
    const migrating = applyMigrations(source, { log, signal, limits });
    const waits: number[] = [];
    const isRefused = () => lines.filter(({ msg }) => String(msg).includes('waits for a lock'));
    for (let id = 1; isRefused().length < 3; id += 1) {
      const start = performance.now();
      await writer.query(`INSERT INTO plants VALUES (${id}, 'Aloe')`);
      waits.push(performance.now() - start);
    }
    await reader.query('COMMIT');
    await migrating;
    // One waited behind the migration, but not until the reader had ended.
    expect(Math.max(...waits)).toBeGreaterThan(50);
    expect(Math.max(...waits)).toBeLessThan(1_000);
    expect(await database.query('SELECT DISTINCT a FROM plants')).toEqual([{ a: null }]);
    await Promise.all([reader.end(), writer.end(), source.destroy()]);
  });

  it('gives up after a bounded time, and says why', async () => {
    await applyMigrations(dataSource, { log, signal });
    const source = await including(migration('ALTER TABLE plants ADD COLUMN a text'));
    const reader = await connectClient(database.url);
    await reader.query('BEGIN; SELECT count(*) FROM plants');
    const limits = { ...STARTUP_LIMITS, tableLock: 20, migrationLock: 200 };
    await expect(applyMigrations(source, { log, signal, limits })).rejects.toThrow(
      /the migrations failed: canceling statement due to lock timeout$/,
    );
    await Promise.all([reader.end(), source.destroy()]);
  });
});

describe('a migration without the property `name`', () => {
  class AddColour1900000000001 implements MigrationInterface {
    readonly transaction = false;
    async up(session: QueryRunner): Promise<void> {
      await session.query('CREATE INDEX CONCURRENTLY colours ON plants (name)');
    }
    async down(session: QueryRunner): Promise<void> {
      await session.query('DROP INDEX CONCURRENTLY colours');
    }
  }
  let source: DataSource;

  beforeEach(async () => {
    await applyMigrations(dataSource, { log, signal });
    source = await including(AddColour1900000000001);
  });

  afterEach(() => source.destroy());

  it('is applied under the name of its class, also when it alone is pending, and taken back', async () => {
    lines = [];
    await applyMigrations(source, { log, signal });
    expect(lines).toContainEqual(expect.objectContaining({ applied: ['AddColour1900000000001'] }));
    expect(await indexes()).toContain('colours');
    await applyMigrations(source, { log, signal });
    expect(await indexes()).toContain('colours');
    await revertMigration(source, { log, signal });
    expect(await indexes()).not.toContain('colours');
  });

  it('is waited for where another process migrates', async () => {
    const limits = { ...STARTUP_LIMITS, wait: 200, retry: 20 };
    await expect(awaitMigrations(source, { log, signal, limits })).rejects.toThrow(
      /migrations are pending .*: AddColour1900000000001$/,
    );
    await applyMigrations(source, { log, signal });
    await awaitMigrations(source, { log, signal, limits });
  });

  it('counts as applied by a newer release only for a release that does not have it', async () => {
    await applyMigrations(source, { log, signal });
    for (const [known, newer] of [
      [source, undefined],
      [dataSource, ['AddColour1900000000001']],
    ] as const) {
      lines = [];
      await applyMigrations(known, { log, signal });
      expect(lines).toMatchObject([{ msg: 'the database is up to date' }]);
      expect(lines[0]?.['newer']).toEqual(newer);
    }
  });
});

it('a token can be issued during a migration', async () => {
  await applyMigrations(dataSource, { log, signal });
  const holder = await connectClient(database.url);
  await holder.query('BEGIN; LOCK TABLE plants IN SHARE MODE');
  const source = await including(migration('DELETE FROM plants', false));
  const limits = { ...STARTUP_LIMITS, beat: 20 };
  const migrating = applyMigrations(source, { log, signal, limits });
  const showsLife = async () =>
    expect(
      await database.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name ~ 'migration'",
      ),
    ).toHaveLength(1);
  await vi.waitFor(showsLife, PATIENCE);
  for (let n = 0; n < 5; n += 1) {
    expect(await issue(database.url, 'create', '--name', 'urgent')).toMatch(/^pst_/);
  }
  await showsLife();
  await holder.query('COMMIT');
  await migrating;
  await holder.end();
  await source.destroy();
});

describe('an index', () => {
  it('serves searches', async () => {
    await applyMigrations(dataSource, { log, signal });
    await database.query(
      "INSERT INTO plants SELECT n, 'Plant ' || n, NULL FROM generate_series(1, 20000) AS n",
    );
    await database.query('ANALYZE plants');
    const { text, values } = searchStatement('lant 1777');
    const plan = await database.query(`EXPLAIN ${text}`, values);
    expect(JSON.stringify(plan)).toContain('Bitmap Index Scan on plants_name_search_idx');
  });

  it('replaces the former indexes of an older database', async () => {
    await becomeOld();
    await database.query(FORMER_INDEXES);
    await database.query(
      "INSERT INTO plant_store_migrations (timestamp, name) VALUES (1795305600000, 'DistributeTables1795305600000'), (1795309200000, 'IndexPlants1795309200000')",
    );
    await applyMigrations(dataSource, { log, signal });
    expect(await indexes()).toEqual(INDEXES);
  });

  it('is built while transactions write, under the lock, and is shown in the log', async () => {
    await becomeOld();
    const writer = await openWriter();
    const limits = { ...STARTUP_LIMITS, beat: 20, retry: 20, wait: 1_500, migrationLock: 1_500 };
    const reasons = new Set<string>();
    const waiting = { log, signal, limits, onWait: (reason: string) => reasons.add(reason) };
    const migrating = applyMigrations(dataSource, waiting);
    await builder();
    const others = [applyMigrations(dataSource, waiting), awaitMigrations(dataSource, waiting)];
    // Longer than they wait for an instance that is not alive.
    await sleep(3_000);
    expect(lines.filter(({ msg }) => msg === 'building an index').length).toBeGreaterThan(10);
    await database.query("INSERT INTO plants VALUES (1001, 'Aloe')");
    const [session] = (await writer.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows;
    expect(lines).toContainEqual(
      expect.objectContaining({
        index: 'plants_tag_idx',
        phase: 'waiting for writers before build',
        waitsForSession: session?.pid,
      }),
    );
    expect(reasons).toContain('building the index plants_tag_idx');
    expect(reasons).toContain('another instance is migrating');
    await writer.query('COMMIT');
    await Promise.all([migrating, ...others]);
    expect(await indexes()).toEqual(INDEXES);
    await writer.end();
  });

  it('is built again after an interruption', async () => {
    await becomeOld();
    const writer = await openWriter();
    const failing = applyMigrations(dataSource, { log, signal });
    const outcome = failing.catch(String);
    await database.query(`SELECT pg_terminate_backend(${await builder()})`);
    expect(await outcome).toMatch(/the migrations failed: /);
    await writer.query('COMMIT');
    expect(await indexes()).toEqual(['plants_pkey', 'plants_tag_idx, invalid']);
    await applyMigrations(dataSource, { log, signal });
    expect(await indexes()).toEqual(INDEXES);
    await writer.end();
  });

  it('is kept if the session of a killed instance goes on building it', async () => {
    await becomeOld();
    const [writer, session] = [await openWriter(), await connectClient(database.url)];
    const building = session.query(
      'CREATE INDEX CONCURRENTLY plants_tag_idx ON plants (hashtextextended(tag, 0), id) WHERE tag IS NOT NULL',
    );
    await builder();
    const oid = "SELECT 'plants_tag_idx'::regclass::oid AS oid";
    const before = await database.query(oid);
    const limits = { ...STARTUP_LIMITS, beat: 20 };
    const migrating = applyMigrations(dataSource, { log, signal, limits });
    const isShown = () => lines.some(({ msg }) => msg === 'building an index');
    await vi.waitFor(() => expect(isShown()).toBe(true), { timeout: PATIENCE, interval: 10 });
    await writer.query('COMMIT');
    await Promise.all([building, migrating]);
    expect(await database.query(oid)).toEqual(before);
    expect(await indexes()).toEqual(INDEXES);
    await Promise.all([writer.end(), session.end()]);
  });

  it('is built where the defaults of the role would end its session', async () => {
    await becomeOld();
    const name = new URL(database.url).pathname.slice(1);
    for (const setting of [
      'statement_timeout = 500',
      'lock_timeout = 500',
      'idle_in_transaction_session_timeout = 500',
      "default_transaction_isolation = 'repeatable read'",
    ]) {
      await database.query(`ALTER DATABASE ${name} SET ${setting}`);
    }
    const writer = await openWriter('SET idle_in_transaction_session_timeout = 0');
    const migrating = applyMigrations(dataSource, { log, signal });
    await builder();
    // Longer than each of the defaults.
    await sleep(1_500);
    await writer.query('COMMIT');
    await migrating;
    expect(await indexes()).toEqual(INDEXES);
    await writer.end();
  });
});

it('a migration that follows the loss of the lock is not begun', async () => {
  await becomeOld();
  const writer = await openWriter();
  const limits = { ...STARTUP_LIMITS, beat: 20 };
  const migrating = applyMigrations(dataSource, { log, signal, limits });
  const outcome = migrating.catch(String);
  await builder();
  await database.query(
    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
  );
  const isNoticed = () => lines.some(({ msg }) => msg === 'the migration lock is lost');
  await vi.waitFor(() => expect(isNoticed()).toBe(true), { timeout: PATIENCE, interval: 10 });
  await writer.query('COMMIT');
  expect(await outcome).toMatch(/failed: the migration lock is lost: /);
  expect(await indexes()).toEqual(['plants_pkey', 'plants_tag_idx']);
  await writer.end();
  await applyMigrations(dataSource, { log, signal });
  expect(await indexes()).toEqual(INDEXES);
});
