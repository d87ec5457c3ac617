import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { followEvents } from '../support/event-source.js';
import { PATIENCE } from '../support/patience.js';
import { dropRole, migrate, newRole, PASSWORD, quoted, SCHEMA, urlAs } from '../support/roles.js';
import { createMigratedDatabase, createTestDatabase, given } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

describe('a copy of a database', () => {
  it('continues with other positions than the original', async () => {
    const database = await createMigratedDatabase();
    const name = new URL(database.url).pathname.slice(1);
    const positions: number[] = [];
    for (const one of [database, () => createTestDatabase(`TEMPLATE ${name}`), database]) {
      const other = await startTestService({
        database: typeof one === 'function' ? await one() : given(one.url),
      });
      await other.post({ id: positions.length, name: 'a' });
      positions.push(Number((await other.request('GET', '/changes/latest')).json['position']));
      await other.stop();
    }
    const [original, copy, later] = positions as [number, number, number];
    expect(later).toBe(original + 1);
    expect(copy).toBeGreaterThan(later + 1_000_000);
    await database.drop();
  });
});

describe('a server that is read-only', () => {
  it('refuses unknown positions, and cannot know them when it has just taken over', async () => {
    const database = await createMigratedDatabase();
    const before = await startTestService({ database: given(database.url) });
    await before.post({ id: 1, name: 'a' });
    const { position } = (await before.request('GET', '/changes/latest')).json;
    await before.stop();
    // A copy is another server for readers.
    const copy = await createTestDatabase(`TEMPLATE ${new URL(database.url).pathname.slice(1)}`);
    const answers = [];
    for (const { url } of [database, copy]) {
      const service = await startTestService({
        database: given(url),
        parameters: 'options=-c%20default_transaction_read_only%3Don',
      });
      for (const after of [position, Number(position) + 1]) {
        const { status, json } = await service.request('GET', `/changes?after=${Number(after)}`);
        answers.push([status, json['error']]);
      }
      await service.stop();
    }
    expect(answers).toEqual([
      [200, undefined],
      [400, 40006],
      [200, undefined],
      [503, 50300],
    ]);
    await copy.drop();
    await database.drop();
  });
});

describe('CHANGES_ENABLED=false', () => {
  let database: TestDatabase;
  const latest = async (service: TestService) =>
    String((await service.request('GET', '/changes/latest')).json['position']);
  const serve = (enabled: boolean) =>
    startTestService({
      database: given(database.url),
      environment: { CHANGES_ENABLED: String(enabled) },
    });

  beforeEach(async () => {
    database = await createMigratedDatabase();
  });

  afterEach(() => database.drop());

  it('is told to readers of before, also to those who had read all', async () => {
    const before = await serve(true);
    await before.post({ id: 1, name: 'a' });
    const position = await latest(before);
    await before.stop();
    const pause = await serve(false);
    await pause.post({ id: 2, name: 'a' });
    await pause.stop();
    const after = await serve(true);
    try {
      expect((await after.request('GET', `/changes?after=${position}`)).json).toMatchObject({
        error: 41000,
      });
      expect((await after.request('GET', '/changes')).json).toEqual([]);
      const now = await latest(after);
      await after.post({ id: 3, name: 'a' });
      expect((await after.request('GET', `/changes?after=${now}`)).json).toMatchObject([{ id: 3 }]);
    } finally {
      await after.stop();
    }
  });

  it('of one replica among others is told to readers of these, each time', async () => {
    const [on, off] = [await serve(true), await serve(false)];
    try {
      for (const id of [1, 3, 5]) {
        await on.post({ id, name: 'a' });
        const position = await latest(on);
        const stream = await followEvents(`${on.url}/changes?after=${position}`, {
          Authorization: `Bearer ${TOKEN}`,
        });
        await off.post({ id: id + 1, name: 'a' });
        // The stream ends, and whoever comes back is told why.
        await expect(stream.next()).rejects.toThrow('terminated');
        expect((await on.request('GET', `/changes?after=${position}`)).status).toBe(410);
      }
    } finally {
      await Promise.all([on.stop(), off.stop()]);
    }
  });

  it('is passed by no reader of a database that is read-only, and told when it is not', async () => {
    const before = await serve(true);
    await before.post({ id: 1, name: 'a' });
    const position = await latest(before);
    await before.stop();
    const pause = await serve(false);
    await pause.post({ id: 2, name: 'a' });
    await pause.stop();
    const readOnly = await startTestService({
      database: given(database.url),
      parameters: 'options=-c%20default_transaction_read_only%3Don',
    });
    const page = await readOnly.request('GET', `/changes?after=${position}`);
    expect([page.status, page.json]).toEqual([200, []]);
    expect(await latest(readOnly)).toBe(position);
    await readOnly.stop();
    const after = await serve(true);
    expect((await after.request('GET', `/changes?after=${position}`)).status).toBe(410);
    await after.stop();
  });

  it('interrupts nothing if nothing is changed meanwhile', async () => {
    const before = await serve(true);
    await before.post({ id: 1, name: 'a' });
    const position = await latest(before);
    await before.stop();
    await (await serve(false)).stop();
    const after = await serve(true);
    try {
      expect((await after.request('GET', `/changes?after=${position}`)).json).toEqual([]);
    } finally {
      await after.stop();
    }
  });

  it('records nothing, and has no such paths', async () => {
    const other = await startTestService({ environment: { CHANGES_ENABLED: 'false' } });
    try {
      expect((await other.post({ id: 1, name: 'a' })).status).toBe(200);
      expect((await other.request('GET', '/changes')).json).toMatchObject({ error: 40400 });
      expect(await other.database.query('SELECT * FROM plant_changes')).toEqual([]);
    } finally {
      await other.stop();
    }
  });
});

describe('CHANGES_RETENTION', () => {
  it('removes older records, in the order of their positions', async () => {
    const database = await createMigratedDatabase();
    await database.query(
      `INSERT INTO plant_changes (kind, principal, request_id, id, time)
       SELECT 'removed', 'jwt:a', 'r', n, now() - interval '1 day' - interval '1 minute' * (2501 - n)
       FROM generate_series(1, 2502) AS n`,
    );
    const other = await startTestService({ database, environment: { CHANGES_RETENTION: '1d' } });
    try {
      await vi.waitFor(async () => {
        const rows = await database.query('SELECT id FROM plant_changes');
        expect(rows).toEqual([{ id: '2502' }]);
      }, PATIENCE);
      await vi.waitFor(async () => {
        const metrics = await (await fetch(`${other.managementUrl}/metrics`)).text();
        expect(metrics).toContain('plant_store_changes_pruned_total{table="plant_changes"} 2501');
      }, PATIENCE);
      expect((await other.request('GET', '/changes?after=2500')).status).toBe(410);
      expect((await other.request('GET', '/changes?after=2501')).json).toMatchObject([
        { id: 2502 },
      ]);
    } finally {
      await other.stop();
    }
  });
});

describe('a shutdown', () => {
  it('does not wait until all older records are removed', async () => {
    const database = await createMigratedDatabase();
    await database.query(
      `INSERT INTO plant_changes (kind, principal, request_id, id, time)
       SELECT 'removed', 'jwt:a', 'r', n, now() - interval '1 year' FROM generate_series(1, 100000) AS n`,
    );
    const left = async () =>
      (await database.query('SELECT count(*)::int AS count FROM plant_changes'))[0]!['count'];
    const other = await startTestService({ database: given(database.url) });
    await vi.waitFor(async () => expect(await left()).toBeLessThan(100_000), PATIENCE);
    await other.stop();
    expect(await left()).toBeGreaterThan(0);
    await database.drop();
  });
});

describe('records that cannot be removed', () => {
  it('are reported, and everything else goes on', async () => {
    const database = await createMigratedDatabase();
    await database.query(
      `CREATE OR REPLACE FUNCTION prune_plant_changes(before timestamptz, most integer) RETURNS integer
         LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`,
    );
    const broken = await startTestService({ database });
    try {
      await vi.waitFor(() => {
        expect(broken.log).toContainEqual(
          expect.objectContaining({ level: 50, msg: 'old changes cannot be removed' }),
        );
      }, PATIENCE);
      expect((await broken.post({ id: 1, name: 'a' })).status).toBe(200);
      expect((await broken.request('GET', '/changes')).json).toMatchObject([{ id: 1 }]);
    } finally {
      await broken.stop();
    }
  });
});

describe('a start that cannot record changes', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createMigratedDatabase();
  });

  afterEach(() => database.drop());

  const start = (environment = {}, url = database.url) =>
    startTestService({ database: given(url), environment });

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
    try {
      await expect(start(environment, urlAs(name, database))).rejects.toThrow(
        `changes of plants cannot be recorded: ${reason}`,
      );
      const url = urlAs(name, database);
      const other = await start({ ...environment, CHANGES_ENABLED: 'false' }, url);
      expect((await other.post({ id: 1, name: 'a' })).status).toBe(200);
      await other.stop();
    } finally {
      await dropRole(name, database);
    }
  });

  it.each([
    ['ALTER SEQUENCE plant_changes_position_seq CACHE 20', 'must have CACHE 1'],
    [
      'ALTER TABLE plants DISABLE TRIGGER plant_changes_unrecorded',
      'the trigger plant_changes_unrecorded is missing or disabled',
    ],
    [
      `CREATE TABLE rooms (id bigint PRIMARY KEY);
       ALTER TABLE plants ADD room bigint, ADD CONSTRAINT plants_room_fkey
         FOREIGN KEY (room) REFERENCES rooms ON DELETE CASCADE`,
      'the foreign key plants_room_fkey changes rows without a record',
    ],
  ])('is refused after %s', async (change, reason) => {
    await database.query(change);
    await expect(start()).rejects.toThrow(reason);
  });

  it('goes on to refuse writes, if positions can be given out of order', async () => {
    const running = await start();
    try {
      expect((await running.post({ id: 1, name: 'a' })).status).toBe(200);
      await database.query('ALTER SEQUENCE plant_changes_position_seq CACHE 20');
      expect((await running.post({ id: 2, name: 'a' })).status).toBe(503);
      await database.query('ALTER SEQUENCE plant_changes_position_seq CACHE 1');
      expect((await running.post({ id: 2, name: 'a' })).status).toBe(200);
    } finally {
      await running.stop();
    }
  });
});

describe('a database that cannot keep the order of changes', () => {
  const LIKE_CITUS =
    'SET allow_system_table_mods = on; CREATE TABLE pg_catalog.pg_dist_partition ()';

  it('gets no records, which the start says', async () => {
    const database = await createMigratedDatabase();
    await database.query(LIKE_CITUS);
    const other = await startTestService({ database });
    try {
      expect((await other.post({ id: 1, name: 'a' })).status).toBe(200);
      expect((await other.request('GET', '/changes')).json).toMatchObject({ error: 40400 });
      expect((await other.request('GET', '/changes/latest')).json).toMatchObject({ error: 40400 });
      expect(other.log).toContainEqual(
        expect.objectContaining({ level: 40, msg: 'changes of plants are not recorded' }),
      );
    } finally {
      await other.stop();
    }
  });

  it('stops a start with CHANGES_ENABLED=true', async () => {
    const database = await createMigratedDatabase();
    await database.query(LIKE_CITUS);
    const start = startTestService({ database, environment: { CHANGES_ENABLED: 'true' } });
    await expect(start).rejects.toThrow(/^CHANGES_ENABLED must not be true: .*Citus/);
    await database.drop();
  });
});
