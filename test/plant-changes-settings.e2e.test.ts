import { describe, expect, it, vi } from 'vitest';
import { PATIENCE } from './support/patience.js';
import { dropRole, migrate, newRole, PASSWORD, quoted, SCHEMA, urlAs } from './support/roles.js';
import { createMigratedDatabase, createTestDatabase, given } from './support/test-database.js';
import { startTestService } from './support/test-service.js';

describe('a copy of a database', () => {
  it('continues with other positions than the original', async () => {
    const database = await createMigratedDatabase();
    const name = new URL(database.url).pathname.slice(1);
    const positions = [];
    for (const one of [database, () => createTestDatabase(`TEMPLATE ${name}`), database]) {
      const other = await startTestService({
        database: typeof one === 'function' ? await one() : given(one.url),
      });
      await other.post({ id: positions.length, name: 'a' });
      positions.push((await other.request('GET', '/changes/latest')).json['position']);
      await other.stop();
    }
    expect(positions).toEqual([1, expect.any(Number), 2]);
    expect(positions[1]).toBeGreaterThan(1_700_000_000_000_000);
    await database.drop();
  });
});

describe('CHANGES_ENABLED=false', () => {
  it('is told to readers of before when changes are recorded again', async () => {
    const database = await createMigratedDatabase();
    const serve = (enabled: string) =>
      startTestService({
        database: given(database.url),
        environment: { CHANGES_ENABLED: enabled },
      });
    const answers = [];
    for (const [n, enabled] of ['true', 'true', 'false', 'true'].entries()) {
      const other = await serve(enabled);
      await other.post({ id: n, name: 'a' });
      answers.push((await other.request('GET', '/changes?after=1')).json);
      if (n === 3) answers.push((await other.request('GET', '/changes')).json);
      await other.stop();
    }
    expect(answers).toMatchObject([
      [],
      [{ id: 1 }],
      { error: 40400 },
      { error: 41000 },
      [{ id: 3 }],
    ]);
    // The old ones go, although they are younger than the retention.
    const other = await serve('true');
    await vi.waitFor(async () => {
      expect(await database.query('SELECT id FROM plant_changes')).toEqual([{ id: '3' }]);
    }, PATIENCE);
    await other.stop();
    await database.drop();
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

describe('a role that may not add records', () => {
  it('creates plants without them, which the start says', async () => {
    const database = await createMigratedDatabase();
    const name = newRole();
    await migrate(database, { role: { name, password: PASSWORD }, schema: SCHEMA });
    await database.query(`REVOKE INSERT ON plant_changes FROM ${quoted(name)}`);
    const other = await startTestService({
      database: given(urlAs(name, database)),
      environment: { DATABASE_MIGRATE_ON_START: 'false' },
    });
    try {
      expect((await other.post({ id: 1, name: 'a' })).status).toBe(200);
      expect(other.log).toContainEqual(
        expect.objectContaining({ reason: 'the role may not insert into plant_changes' }),
      );
    } finally {
      await other.stop();
      await dropRole(name, database);
      await database.drop();
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
