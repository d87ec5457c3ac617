import { pino } from 'pino';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { connect } from '../../packages/framework/src/database/connect.js';
import {
  applyMigrations,
  revertMigration,
} from '../../packages/framework/src/database/migrations/migrate.js';
import { followEvents } from '../../packages/framework/test/support/event-source.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { dropRole, migrate, newRole, PASSWORD, quoted, urlAs } from '../support/roles.js';
import { createDataSource, SCHEMA } from '../support/data-source.js';
import { RECORDED_CREATE } from '../support/open-writers.js';
import { connect as connectTo, OwnPostgres } from '../support/own-postgres.js';
import { createTestDatabase, given } from '../../packages/framework/test/support/test-database.js';
import { databaseForTest } from '../support/migrated-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { serviceForTest, startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

let database: TestDatabase;

beforeEach(async () => {
  database = await databaseForTest();
});

const latest = async (service: TestService) =>
  Number((await service.request('GET', '/changes/latest')).json['position']);

const changesAfter = (service: TestService, position: number) =>
  service.request('GET', `/changes?after=${position}`);

const create = async (service: TestService, id: number) =>
  (await service.post({ id, name: 'a' })).status;

const copyOfDatabase = () =>
  createTestDatabase(`TEMPLATE ${new URL(database.url).pathname.slice(1)}`);

/** What a service says that runs only for this. */
async function during<Result>(
  say: (service: TestService) => Promise<Result>,
  {
    url = database.url,
    ...options
  }: { url?: string; parameters?: string; environment?: Record<string, string> } = {},
): Promise<Result> {
  const service = await startTestService({ database: given(url), ...options });
  try {
    return await say(service);
  } finally {
    await service.stop();
  }
}

const READ_ONLY = { parameters: 'options=-c%20default_transaction_read_only%3Don' };
/** JavaScript reads no position beyond. */
const USE_UP =
  "SELECT setval('plant_changes_position_seq', (1::bigint << 53) - (1::bigint << 32) + 1)";
const DISABLED = { environment: { CHANGES_ENABLED: 'false' } };

it('a copy of a database continues with other positions than the original', async () => {
  const createAndAsk = async (service: TestService) => {
    await create(service, 1 + (await latest(service)));
    return latest(service);
  };
  const original = await during(createAndAsk);
  const other = await copyOfDatabase();
  const copy = await during(createAndAsk, other);
  expect(await during(createAndAsk)).toBe(original + 1);
  expect(copy).toBeGreaterThan(original + 1_000_001);
  await other.drop();
});

it('a server that is read-only refuses unknown positions, and cannot know them when it has just taken over', async () => {
  const position = await during(async (service) => {
    await create(service, 1);
    return latest(service);
  });
  // A copy is another server for readers.
  const copy = await copyOfDatabase();
  const answers: unknown[] = [];
  for (const { url } of [database, copy]) {
    await during(
      async (service) => {
        for (const after of [position, position + 1]) {
          const { status, json } = await changesAfter(service, after);
          answers.push([status, json['error']]);
        }
      },
      { url, ...READ_ONLY },
    );
  }
  expect(answers).toEqual([
    [200, undefined],
    [400, 40006],
    [200, undefined],
    [503, 50300],
  ]);
  await copy.drop();
});

it('a running service gives positions of another server at once when it is told that the data was restored', async () => {
  const running = await serviceForTest({ database });
  await create(running, 1);
  const before = await latest(running);
  await database.query('TRUNCATE uncrashed_plant_changes_state; SELECT resume_plant_changes()');
  await database.query(RECORDED_CREATE, [2]);
  await create(running, 3);
  expect((await changesAfter(running, before)).json).toMatchObject([{ id: 2 }, { id: 3 }]);
  const after = await latest(running);
  expect(Math.floor(after / 65_536)).toBeGreaterThan(Math.floor(before / 65_536));
});

it('a migration by another role leaves what it creates to the owner of the functions', async () => {
  const other = await createTestDatabase();
  const name = newRole();
  const owned = createDataSource(urlAs(name, other), { poolMax: 2 });
  const dataSource = createDataSource(other.url, { poolMax: 2 });
  const waiting = { log: pino({ level: 'silent' }), signal: new AbortController().signal };
  const insert = async (id: number) => {
    const session = await connectTo(urlAs(name, other));
    try {
      await session.query(RECORDED_CREATE, [id]);
    } finally {
      await session.end();
    }
  };
  try {
    await other.query(
      `CREATE ROLE ${quoted(name)} LOGIN PASSWORD '${PASSWORD.replaceAll("'", "''")}';
       GRANT CREATE ON DATABASE ${new URL(other.url).pathname.slice(1)} TO ${quoted(name)};
       GRANT CREATE ON SCHEMA public TO ${quoted(name)}`,
    );
    await connect(owned, waiting);
    await applyMigrations(owned, waiting);
    await revertMigration(owned, waiting);
    await insert(1);
    await connect(dataSource, waiting);
    await applyMigrations(dataSource, waiting);
    await insert(2);
    await revertMigration(dataSource, waiting);
    await insert(3);
  } finally {
    for (const one of [owned, dataSource]) if (one.isInitialized) await one.destroy();
    await dropRole(name, other);
    await other.drop();
  }
});

describe('CHANGES_ENABLED=false', () => {
  const position = () =>
    during(async (service) => {
      await create(service, 1);
      return latest(service);
    });

  it('is told to readers of before, also to those who had read all', async () => {
    const before = await position();
    await during((service) => create(service, 2), DISABLED);
    const after = await serviceForTest({ database: given(database.url) });
    expect((await changesAfter(after, before)).json).toMatchObject({ error: 41000 });
    expect((await after.request('GET', '/changes')).json).toEqual([]);
    const now = await latest(after);
    await create(after, 3);
    expect((await changesAfter(after, now)).json).toMatchObject([{ id: 3 }]);
  });

  it('of one replica among others is told to readers of these, each time', async () => {
    const on = await serviceForTest({ database: given(database.url) });
    const off = await serviceForTest({ database: given(database.url), ...DISABLED });
    for (const id of [1, 3, 5]) {
      await create(on, id);
      const before = await latest(on);
      const stream = await followEvents(`${on.url}/changes?after=${before}`, {
        Authorization: `Bearer ${TOKEN}`,
      });
      await create(off, id + 1);
      // The stream ends, and whoever comes back is told why.
      await expect(stream.next()).rejects.toThrow('terminated');
      expect((await changesAfter(on, before)).status).toBe(410);
    }
  });

  it('is passed by no reader of a database that is read-only, and told when it is not', async () => {
    const before = await position();
    await during((service) => create(service, 2), DISABLED);
    await during(async (service) => {
      expect(await changesAfter(service, before)).toMatchObject({ status: 200, json: [] });
      expect(await latest(service)).toBe(before);
    }, READ_ONLY);
    expect((await during((service) => changesAfter(service, before))).status).toBe(410);
  });

  it('interrupts nothing if nothing is changed meanwhile', async () => {
    const before = await position();
    await during(() => Promise.resolve(), DISABLED);
    expect((await during((service) => changesAfter(service, before))).json).toEqual([]);
  });

  it('records nothing, and has no such paths', async () => {
    const other = await serviceForTest({ database, ...DISABLED });
    expect(await create(other, 1)).toBe(200);
    expect((await other.request('GET', '/changes')).json).toMatchObject({ error: 40400 });
    expect(await database.query('SELECT * FROM plant_changes')).toEqual([]);
  });
});

it('the log of PostgreSQL has the statement of a change without a record, at most one in a minute of each session', async () => {
  const postgres = await OwnPostgres.start({ logging_collector: 'on' });
  try {
    await during((service) => create(service, 1), { url: postgres.url });
    const session = await postgres.connect();
    await session.query("SET application_name = 'night shift'");
    for (const tag of ['a', 'b', 'c']) await session.query(`UPDATE plants SET tag = '${tag}'`);
    await session.end();
    await postgres.query('DELETE FROM plants');
    const log = await vi.waitFor(async () => {
      const [row] = await postgres.query('SELECT pg_read_file(pg_current_logfile()) AS log');
      expect(row?.['log']).toMatch(/DELETE by .*\n(.*\n)*.*STATEMENT: +DELETE FROM plants/);
      return String(row?.['log']);
    }, PATIENCE);
    expect(log).toMatch(
      /a change of plants up to position \d+ was made without a record: UPDATE by \S+ \(night shift\)\n(.*\n)*?.*STATEMENT: +UPDATE plants SET tag = 'a'\n/,
    );
    // Another minute can begin meanwhile.
    expect(log.match(/: UPDATE by /g)!.length).toBeLessThanOrEqual(2);
  } finally {
    await postgres.stop();
  }
});

it('CHANGES_RETENTION removes older records, in the order of their positions', async () => {
  await database.query(
    `INSERT INTO plant_changes (kind, principal, request_id, id, time)
     SELECT 'removed', 'jwt:a', 'r', n, now() - interval '1 day' - interval '1 minute' * (2501 - n)
     FROM generate_series(1, 2502) AS n`,
  );
  const other = await serviceForTest({ database, environment: { CHANGES_RETENTION: '1d' } });
  await vi.waitFor(async () => {
    const rows = await database.query('SELECT id FROM plant_changes');
    expect(rows).toEqual([{ id: '2502' }]);
  }, PATIENCE);
  await vi.waitFor(async () => {
    const metrics = await (await fetch(`${other.managementUrl}/metrics`)).text();
    expect(metrics).toContain('plant_store_changes_pruned_total{table="plant_changes"} 2501');
  }, PATIENCE);
  expect((await changesAfter(other, 2500)).status).toBe(410);
  expect((await changesAfter(other, 2501)).json).toMatchObject([{ id: 2502 }]);
});

it('a shutdown does not wait until all older records are removed', async () => {
  await database.query(
    `INSERT INTO plant_changes (kind, principal, request_id, id, time)
     SELECT 'removed', 'jwt:a', 'r', n, now() - interval '1 year' FROM generate_series(1, 100000) AS n`,
  );
  const left = async () =>
    (await database.query('SELECT count(*)::int AS count FROM plant_changes'))[0]!['count'];
  await during(() => vi.waitFor(async () => expect(await left()).toBeLessThan(100_000), PATIENCE));
  expect(await left()).toBeGreaterThan(0);
});

it('records that cannot be removed are reported, and everything else goes on', async () => {
  await database.query(
    `CREATE OR REPLACE FUNCTION prune_plant_changes(before timestamptz, most integer) RETURNS integer
       LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`,
  );
  const broken = await serviceForTest({ database });
  await vi.waitFor(() => {
    expect(broken.log).toContainEqual(
      expect.objectContaining({ level: 50, msg: 'old changes cannot be removed' }),
    );
  }, PATIENCE);
  expect(await create(broken, 1)).toBe(200);
  expect((await broken.request('GET', '/changes')).json).toMatchObject([{ id: 1 }]);
});

describe('a start that cannot record changes', () => {
  const start = () => startTestService({ database });

  it.each([
    ['REVOKE INSERT ON plant_changes FROM', 'the role may not insert into "plant_changes"'],
    [
      'REVOKE EXECUTE ON FUNCTION begin_plant_changes() FROM',
      'permission denied for function begin_plant_changes',
    ],
  ])('is refused if the role of the service lacks a privilege: %s', async (revoke, reason) => {
    const name = newRole();
    await migrate(database, { role: { name, password: PASSWORD }, schema: SCHEMA });
    await database.query(`${revoke} ${quoted(name)}`);
    const environment = { DATABASE_MIGRATE_ON_START: 'false' };
    const url = urlAs(name, database);
    try {
      await expect(startTestService({ database: given(url), environment })).rejects.toThrow(
        `changes of plants cannot be recorded: ${reason}`,
      );
      const withoutChanges = { url, environment: { ...environment, CHANGES_ENABLED: 'false' } };
      expect(await during((service) => create(service, 1), withoutChanges)).toBe(200);
    } finally {
      await dropRole(name, database);
    }
  });

  it.each([
    ['ALTER SEQUENCE plant_changes_position_seq CACHE 20', 'must have CACHE 1'],
    [
      'ALTER TABLE plants DISABLE TRIGGER plant_changes_unrecorded',
      'the trigger plant_changes_unrecorded is disabled: run ALTER TABLE "plants" ENABLE TRIGGER plant_changes_unrecorded',
    ],
    [
      'DROP TRIGGER plant_changes_unrecorded ON plants',
      'the trigger plant_changes_unrecorded is missing: call `upgradeHistory` in a migration',
    ],
    [
      `CREATE TABLE rooms (id bigint PRIMARY KEY);
       ALTER TABLE plants ADD room bigint, ADD CONSTRAINT plants_room_fkey
         FOREIGN KEY (room) REFERENCES rooms ON DELETE CASCADE`,
      'the foreign key plants_room_fkey changes rows without a record',
    ],
    [USE_UP, 'the sequence plant_changes_position_seq has come to its end'],
  ])('is refused after %s', async (change, reason) => {
    await database.query(change);
    await expect(start()).rejects.toThrow(reason);
  });

  it('says that functions of an earlier release cannot tell servers apart', async () => {
    await database.query('ALTER FUNCTION open_plant_changes() RENAME TO open_nothing');
    const log = await during(({ log: lines }) => Promise.resolve(lines));
    expect(log).toContainEqual(
      expect.objectContaining({
        level: 40,
        reason: 'call `addIncarnations` in a migration',
        msg: 'readers may miss changes of plants after two failovers: until this is mended, let them copy everything again after each',
      }),
    );
    const { log: current } = await serviceForTest({ database: await databaseForTest() });
    expect(current.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  it('goes on to refuse writes, also by SQL, but not reads, when there are no positions left', async () => {
    const running = await serviceForTest({ database });
    expect(await create(running, 1)).toBe(200);
    await database.query(USE_UP);
    expect(await create(running, 2)).toBe(503);
    await expect(database.query("UPDATE plants SET name = 'b'")).rejects.toThrow('to its end');
    expect((await running.request('GET', '/changes')).json).toMatchObject([{ id: 1 }]);
  });

  it('goes on to refuse writes, if positions can be given out of order', async () => {
    const running = await serviceForTest({ database });
    expect(await create(running, 1)).toBe(200);
    await database.query('ALTER SEQUENCE plant_changes_position_seq CACHE 20');
    expect(await create(running, 2)).toBe(503);
    await database.query('ALTER SEQUENCE plant_changes_position_seq CACHE 1');
    expect(await create(running, 2)).toBe(200);
  });
});

describe('a database that cannot keep the order of changes', () => {
  beforeEach(() =>
    // Like Citus.
    database.query(
      'SET allow_system_table_mods = on; CREATE TABLE pg_catalog.pg_dist_partition ()',
    ),
  );

  it('gets no records, which the start says', async () => {
    const other = await serviceForTest({ database });
    expect(await create(other, 1)).toBe(200);
    for (const path of ['/changes', '/changes/latest']) {
      expect((await other.request('GET', path)).json).toEqual({
        error: 40400,
        message: 'changes are not recorded',
      });
    }
    expect(other.log).toContainEqual(
      expect.objectContaining({ level: 40, msg: 'changes of plants are not recorded' }),
    );
  });

  it('stops a start with CHANGES_ENABLED=true', async () => {
    const start = startTestService({ database, environment: { CHANGES_ENABLED: 'true' } });
    await expect(start).rejects.toThrow(/^CHANGES_ENABLED must not be true: .*Citus/);
  });
});
