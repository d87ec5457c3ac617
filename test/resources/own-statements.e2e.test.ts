import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { pino } from 'pino';
import type { DataSource, Repository } from 'typeorm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Config } from '../../packages/framework/src/config/config.js';
import { Bulkheads } from '../../packages/framework/src/database/bulkheads.js';
import { CommitHooks } from '../../packages/framework/src/database/commit-hooks.js';
import { poolOf } from '../../packages/framework/src/database/connections/bounded-pool.js';
import type { PoolClient } from '../../packages/framework/src/database/connections/pool-client.js';
import { RowLockedError } from '../../packages/framework/src/database/database-error.js';
import { rowWait, withRowWait } from '../../packages/framework/src/database/lock-waits/row-wait.js';
import { Statements } from '../../packages/framework/src/database/statements.js';
import { DATABASE_LIMITS } from '../../packages/framework/src/database/limits.js';
import type { DatabaseLimits } from '../../packages/framework/src/database/limits.js';
import { OwnStatements } from '../../packages/framework/src/database/lock-waits/own-statements.js';
import { Transactions } from '../../packages/framework/src/database/transactions.js';
import { waitApart } from '../../packages/framework/src/database/lock-waits/typeorm-waits.js';
import { ERRORS } from '../../packages/framework/src/errors/common-errors.js';
import { PATIENCE, processTimeOf } from '../../packages/framework/test/support/patience.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { createDataSource } from '../support/data-source.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import { startPooler } from '../support/pooler.js';
import type { Pooler } from '../support/pooler.js';

/** Who waits for what never comes fails after a minute, and nobody before, however busy the machine is. */
const PATIENT_LIMITS = { ...DATABASE_LIMITS, slot: 60_000 };

/** Changes the row so that two changes show. */
const RENAME = `UPDATE plants SET name = name || '!' WHERE id = 1 RETURNING name`;

describe.each(['directly', 'through a pooler'])('outside of Transactions, %s', (way) => {
  let database: TestDatabase;
  let pooler: Pooler;
  let dataSource: DataSource;
  let plants: Repository<Plant>;
  let bulkheads: Bulkheads;
  let statements: OwnStatements;
  let transactions: Transactions;
  let other: Client;

  const connect = async (
    parameters = '',
    poolMax = 3,
    limits: DatabaseLimits = DATABASE_LIMITS,
  ) => {
    const { url } = way === 'directly' ? database : pooler;
    const connected = createDataSource(`${url}${parameters}`, { poolMax });
    await connected.initialize();
    poolOf(connected)!.startServing();
    const own = new Bulkheads({ database: { poolMax } } as Config, limits);
    waitApart(connected, own);
    return [connected, own] as const;
  };

  beforeAll(async () => {
    database = await createMigratedDatabase();
    pooler = await startPooler(database.url);
    [dataSource, bulkheads] = await connect();
    plants = dataSource.getRepository(Plant);
    statements = new OwnStatements(dataSource, bulkheads);
    transactions = new Transactions(
      dataSource,
      bulkheads,
      new CommitHooks(pino({ level: 'silent' })),
    );
  });

  beforeEach(async () => {
    await database.empty();
    await database.query(`INSERT INTO plants (id, name) VALUES (1, 'a'), (2, 'b')`);
    other = new Client({ connectionString: database.url });
    await other.connect();
  });

  afterEach(() => other.end());

  afterAll(async () => {
    await dataSource.destroy();
    await pooler.stop();
    await database.drop();
  });

  const lock = () => other.query('BEGIN; SELECT FROM plants WHERE id = 1 FOR UPDATE');
  const name = async () =>
    (await database.query('SELECT name FROM plants WHERE id = 1'))[0]!['name'];
  const limit = () => dataSource.query<object[]>('SHOW lock_timeout');

  const singles: Readonly<Record<string, () => Promise<unknown>>> = {
    'Statements.run': async () => (await statements.run({ name: 'rename', text: RENAME })).rows,
    'Statements.rows': async () =>
      (await statements.rows<[string]>({ text: RENAME })).map(([renamed]) => ({ name: renamed })),
    'dataSource.query': async () => (await dataSource.query<[object[], number]>(RENAME))[0],
    'a query builder': async () => {
      const update = plants
        .createQueryBuilder()
        .update()
        .set({ name: () => `name || '!'` });
      return (await update.where({ id: 1n }).returning('name').execute()).raw;
    },
    'Repository.update': async () => {
      const { affected } = await plants.update({ id: 1n }, { name: () => `name || '!'` });
      return affected === 1 ? [{ name: 'a!' }] : [];
    },
  };

  it.each(Object.keys(singles))(
    '%s waits for a locked row where others need not wait',
    async (door) => {
      const before = await limit();
      await lock();
      const slots = vi.spyOn(bulkheads.locked, 'run');
      const done = singles[door]!();
      await vi.waitFor(() => expect(slots).toHaveBeenCalledTimes(1), PATIENCE);
      await other.query('COMMIT');
      expect(await done).toEqual([{ name: 'a!' }]);
      expect(await name()).toBe('a!');
      expect(slots).toHaveBeenCalledTimes(1);
      slots.mockRestore();
      expect(await limit()).toEqual(before);
      expect(poolOf(dataSource)!.use).toMatchObject({ used: 0, pending: 0 });
    },
  );

  it.each(Object.keys(singles))('%s fails after a while if the row stays locked', async (door) => {
    await lock();
    const start = performance.now();
    await expect(singles[door]!()).rejects.toMatchObject({ kind: ERRORS.rowLocked });
    expect(performance.now() - start).toBeLessThan(3_000);
    await other.query('COMMIT');
    expect(await name()).toBe('a');
    expect(poolOf(dataSource)!.use).toMatchObject({ used: 0, pending: 0 });
  });

  it('a statement that does not wait for a locked row runs once', async () => {
    await lock();
    const slots = vi.spyOn(bulkheads.locked, 'run');
    const nowait = { text: 'SELECT FROM plants WHERE id = 1 FOR UPDATE NOWAIT' };
    await expect(statements.run(nowait)).rejects.toMatchObject({ kind: ERRORS.rowLocked });
    expect(slots).not.toHaveBeenCalled();
    slots.mockRestore();
  });

  it('a statement fails as it would alone', async () => {
    const insert = `INSERT INTO plants (id, name) VALUES (1, 'c')`;
    await expect(dataSource.query(insert)).rejects.toMatchObject({ code: '23505' });
    await expect(statements.run({ text: insert })).rejects.toMatchObject({ code: '23505' });
    await expect(statements.run({ text: 'DELETE FROM nowhere' })).rejects.toMatchObject({
      code: '42P01',
    });
  });

  it.runIf(way === 'directly')(
    'a statement may be one that cannot be part of a transaction',
    async () => {
      await statements.run({ text: 'VACUUM plants' });
      await dataSource.query('VACUUM plants');
    },
  );

  it.runIf(way === 'directly')(
    "a statement waits as long as the operator's limit says",
    async () => {
      const [limited] = await connect('?lock_timeout=300');
      try {
        await lock();
        const start = performance.now();
        await expect(limited.query(RENAME)).rejects.toMatchObject({ kind: ERRORS.rowLocked });
        expect(performance.now() - start).toBeLessThan(1_000);
        expect(await limited.query('SHOW lock_timeout')).toEqual([{ lock_timeout: '300ms' }]);
      } finally {
        await limited.destroy();
      }
    },
  );

  it('a query runner that is connected keeps its session', async () => {
    const runner = dataSource.createQueryRunner();
    try {
      const session = await runner.connect();
      await lock();
      const slots = vi.spyOn(bulkheads.locked, 'run');
      await expect(runner.query(RENAME)).rejects.toMatchObject({ kind: ERRORS.rowLocked });
      expect(slots).not.toHaveBeenCalled();
      slots.mockRestore();
      expect(await runner.connect()).toBe(session);
      await other.query('COMMIT');
      await runner.query(RENAME);
      expect(await name()).toBe('a!');
    } finally {
      await runner.release();
    }
  });

  const unrepeatable: Readonly<Record<string, () => Promise<unknown>>> = {
    'Repository.save': () => plants.save({ id: 1n, name: 'a!' }),
    'Repository.remove': () => plants.remove(plants.create({ id: 1n })),
    'dataSource.transaction': () => dataSource.transaction((manager) => manager.query(RENAME)),
  };

  it.each(Object.keys(unrepeatable))('%s takes one of a few connections', async (door) => {
    await lock();
    const crowd = Array.from({ length: 5 }, () => unrepeatable[door]!().catch(() => {}));
    await vi.waitFor(async () => {
      const waiting =
        'SELECT FROM pg_stat_activity WHERE wait_event_type = $1 AND datname = current_database()';
      expect(await database.query(waiting, ['Lock'])).toHaveLength(1);
    }, PATIENCE);
    expect(poolOf(dataSource)!.use).toMatchObject({ used: 1, pending: 0 });
    await other.query('COMMIT');
    await Promise.all(crowd);
  });

  /** The greatest number of connections in use at once. */
  const peakOf = async (work: () => Promise<unknown>): Promise<number> => {
    let peak = 0;
    const pool = poolOf(dataSource)!;
    const note = setInterval(() => (peak = Math.max(peak, pool.use.used)), 0);
    await work();
    clearInterval(note);
    return peak;
  };

  it.each<[string, () => Promise<unknown>]>([
    ['findAndCount', () => plants.findAndCount({ take: 1 })],
    [
      'save of another manager',
      () => dataSource.createEntityManager().save(Plant, { id: 1n, name: `${Math.random()}` }),
    ],
    [
      'several queries of one query runner',
      async () => {
        const runner = dataSource.createQueryRunner();
        await runner.query('SELECT 1');
        await Promise.all([runner.query('SELECT 2'), runner.query('SELECT 3')]);
        await runner.release();
      },
    ],
    [
      'a query runner that is connected',
      async () => {
        const runner = dataSource.createQueryRunner();
        await runner.connect();
        await runner.query('SELECT pg_sleep(0.01)');
        await runner.release();
      },
    ],
  ])('%s takes a slot for each connection', async (_, work) => {
    expect(await peakOf(() => Promise.all(Array.from({ length: 12 }, work)))).toBe(1);
    expect(poolOf(dataSource)!.use).toMatchObject({ used: 0, pending: 0 });
  });

  it('a query runner whose connection fails gives its slot back', async () => {
    const runner = dataSource.createQueryRunner();
    const session = (await runner.connect()) as PoolClient;
    session.abandon();
    await expect(runner.query('SELECT 1')).rejects.toMatchObject({
      kind: ERRORS.databaseUnavailable,
    });
    await runner.release();
    await vi.waitFor(
      () => dataSource.transaction((manager) => manager.query('SELECT 1')),
      PATIENCE,
    );
    expect(poolOf(dataSource)!.use).toMatchObject({ used: 0, pending: 0 });
  });

  it('queries of one query runner at once wait for locked rows one by one', async () => {
    await lock();
    const slots = vi.spyOn(bulkheads.locked, 'run');
    const runner = dataSource.createQueryRunner();
    const [waiting, free] = [runner.query(RENAME), runner.query(RENAME.replace('= 1', '= 2'))];
    expect(await free).toEqual([[{ name: 'b!' }], 1]);
    await vi.waitFor(() => expect(slots).toHaveBeenCalledTimes(1), PATIENCE);
    await other.query('COMMIT');
    expect(await waiting).toEqual([[{ name: 'a!' }], 1]);
    slots.mockRestore();
    await runner.release();
  });

  it('the wait for a connection is no wait for a table', async () => {
    await lock();
    const pool = poolOf(dataSource)!;
    const held = await Promise.all([pool.lend(), pool.lend(), pool.lend()]);
    const changed = withRowWait(100, (parameter) =>
      new Statements(dataSource).run({
        text: `UPDATE plants SET name = 'x' WHERE id = 1 AND ${rowWait('$1')}`,
        values: [parameter],
      }),
    );
    const outcome = changed.catch((error: unknown) => error);
    await sleep(1_300);
    for (const client of held) client.release();
    expect(await outcome).toBeInstanceOf(RowLockedError);
    expect(pool.use).toMatchObject({ used: 0, pending: 0 });
  });

  it.each([1, 2, 3, 4, 6])(
    'transactions in a pool of %i do not wait for each other',
    async (poolMax) => {
      const [own, ownBulkheads] = await connect('', poolMax, PATIENT_LIMITS);
      const ownTransactions = new Transactions(
        own,
        ownBulkheads,
        new CommitHooks(pino({ level: 'silent' })),
      );
      const ownStatements = new OwnStatements(own, ownBulkheads);
      const rows = own.getRepository(Plant);
      const read = { text: 'SELECT 1' };
      const inner: (() => Promise<unknown>)[] = [
        () => ownStatements.run(read),
        () => ownBulkheads.lists.run(() => new Statements(own).run(read)),
        () => rows.findAndCount(),
        () => rows.save({ id: 2n, name: `${Math.random()}` }),
        () => ownTransactions.run((manager) => manager.query('SELECT 1')),
        () => own.createEntityManager().transaction((manager) => manager.query('SELECT 1')),
      ];
      const outer: ((work: () => Promise<unknown>) => Promise<unknown>)[] = [
        (work) => ownTransactions.run(work),
        (work) => own.transaction(work),
        (work) => own.createEntityManager().transaction(work),
      ];
      try {
        const all = Promise.allSettled(
          Array.from({ length: 60 }, (_, n) => outer[n % outer.length]!(inner[n % inner.length]!)),
        );
        expect(await processTimeOf(all)).toBeLessThan(2_000);
        const errors = (await all).flatMap((each) =>
          each.status === 'rejected' ? [String(each.reason)] : [],
        );
        const mistake = expect.stringContaining('pass the manager');
        expect(new Set(errors)).toEqual(new Set(poolMax === 1 ? [mistake] : []));
        expect(poolOf(own)!.use).toMatchObject({ used: 0, pending: 0 });
      } finally {
        await own.destroy();
      }
    },
  );

  it('what is not part of the transaction around it works', async () => {
    const all = [...Object.values(singles), () => plants.save({ id: 1n, name: 'a' })];
    for (const door of all) {
      await Promise.all([
        dataSource.transaction(door),
        transactions.run(door),
        transactions.run(() => transactions.run(door)),
        dataSource.transaction(() => dataSource.transaction(door)),
      ]);
    }
  });
});
