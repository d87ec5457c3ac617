import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Client, escapeLiteral } from 'pg';
import { pino } from 'pino';
import type { DataSource, EntityManager, Repository } from 'typeorm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ERRORS } from '../../packages/framework/src/errors/common-errors.js';
import type { Config } from '../../packages/framework/src/config/config.js';
import { Bulkheads } from '../../packages/framework/src/database/bulkheads.js';
import { AFTER_COMMIT, CommitHooks } from '../../packages/framework/src/database/commit-hooks.js';
import { poolOf } from '../../packages/framework/src/database/connections/bounded-pool.js';
import type { PoolClient } from '../../packages/framework/src/database/connections/pool-client.js';
import { RolledBackError } from '../../packages/framework/src/database/database-error.js';
import { Statements } from '../../packages/framework/src/database/statements.js';
import { Transactions } from '../../packages/framework/src/database/transactions.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { createDataSource } from '../support/data-source.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { startPooler } from '../support/pooler.js';
import type { Pooler } from '../support/pooler.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { expectUnavailable } from '../support/unavailable.js';

@Injectable()
class PlantMover {
  constructor(
    @InjectRepository(Plant) private readonly plants: Repository<Plant>,
    private readonly statements: Statements,
    private readonly transactions: Transactions,
  ) {}

  /** Moves a plant to another id. Another plant with that id is replaced. */
  move(from: bigint, to: bigint, outer?: EntityManager): Promise<void> {
    return this.transactions.run(async (manager) => {
      await this.statements
        .in(manager)
        .run({ text: 'DELETE FROM plants WHERE id = $1', values: [String(to)] });
      await manager.withRepository(this.plants).update({ id: from }, { id: to });
    }, outer);
  }
}

const NO_TRANSACTION = /^the manager has no transaction, or its transaction has ended: /;

/**
 * Performs a PL/pgSQL statement before each row is written.
 *
 * @returns reads how often the sequence `attempts` was used, which a rollback does not change
 */
async function onWrite(database: TestDatabase, statement: string): Promise<() => Promise<number>> {
  await database.query('CREATE SEQUENCE attempts');
  await database.query(
    `CREATE FUNCTION on_write() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN ${statement}; RETURN NEW; END $$`,
  );
  await database.query(
    'CREATE TRIGGER on_write BEFORE INSERT OR UPDATE ON plants FOR EACH ROW EXECUTE FUNCTION on_write()',
  );
  return async () => {
    const [row] = await database.query('SELECT last_value, is_called FROM attempts');
    return row!['is_called'] === true ? Number(row!['last_value']) : 0;
  };
}

describe.each(['directly', 'through a pooler'])('a transaction, %s', (way) => {
  let database: TestDatabase;
  let pooler: Pooler;
  let dataSource: DataSource;
  let statements: Statements;
  let transactions: Transactions;
  let mover: PlantMover;
  let other: Client;
  let otherPid: number;
  const lines: string[] = [];
  const hooks = new CommitHooks(pino({}, { write: (line: string) => void lines.push(line) }));

  beforeAll(async () => {
    database = await createMigratedDatabase();
    pooler = await startPooler(database.url);
    dataSource = createDataSource(way === 'directly' ? database.url : pooler.url, { poolMax: 3 });
    await dataSource.initialize();
    poolOf(dataSource)!.startServing();
    statements = new Statements(dataSource);
    const config = { database: { poolMax: 3 } } as Config;
    transactions = new Transactions(dataSource, new Bulkheads(config), hooks);
    mover = new PlantMover(dataSource.getRepository(Plant), statements, transactions);
  });

  beforeEach(async () => {
    await database.empty();
    await database.query(`INSERT INTO plants (id, name) VALUES (1, 'a'), (2, 'b')`);
    // Somebody else, who waits longer than the service for locks and before looking for a deadlock.
    other = new Client({ connectionString: database.url });
    await other.connect();
    await other.query(`SET deadlock_timeout = '60s'`);
    [otherPid] = (await other.query({ text: 'SELECT pg_backend_pid()', rowMode: 'array' }))
      .rows[0] as [number];
  });

  afterEach(() => other.end());

  afterAll(async () => {
    await dataSource.destroy();
    await pooler.stop();
    await database.drop();
  });

  const names = async () => {
    const rows = await database.query('SELECT id, name FROM plants ORDER BY id');
    return Object.fromEntries(rows.map(({ id, name }) => [id, name]));
  };
  const rename = (id: number, name: string) => ({
    text: 'UPDATE plants SET name = $2 WHERE id = $1',
    values: [id, name],
  });

  it('of repositories and statements is committed as a whole', async () => {
    await mover.move(1n, 2n);
    expect(await names()).toEqual({ 2: 'a' });
  });

  it('of TypeORM is committed as a whole, at any level of isolation', async () => {
    await dataSource.transaction('SERIALIZABLE', async (manager) => {
      const [level] = await manager.query<object[]>('SHOW transaction_isolation');
      expect(level).toEqual({ transaction_isolation: 'serializable' });
      await manager.query(`INSERT INTO plants (id, name) VALUES (3, 'c')`);
    });
    expect(await names()).toEqual({ 1: 'a', 2: 'b', 3: 'c' });
  });

  it('of TypeORM is rolled back as a whole when a part fails, and its connection is usable again', async () => {
    const insert = `INSERT INTO plants (id, name) VALUES (3, 'c')`;
    let session: unknown;
    const failing = dataSource.transaction(async (manager) => {
      session = await manager.queryRunner!.connect();
      await manager.query(insert);
      await manager.query(insert);
    });
    await expect(failing).rejects.toMatchObject({ code: '23505' });
    expect(await names()).toEqual({ 1: 'a', 2: 'b' });
    await dataSource.transaction(async (manager) => {
      expect(await manager.queryRunner!.connect()).toBe(session);
      await manager.query(insert);
    });
    expect(await names()).toEqual({ 1: 'a', 2: 'b', 3: 'c' });
  });

  it('of repositories and statements is rolled back as a whole', async () => {
    await database.query(`ALTER TABLE plants ADD CONSTRAINT small CHECK (id < 100)`);
    await expect(mover.move(1n, 100n)).rejects.toMatchObject({ constraint: 'small' });
    expect(await names()).toEqual({ 1: 'a', 2: 'b' });
    await database.query(`ALTER TABLE plants DROP CONSTRAINT small`);
  });

  it('reads rows of its own', async () => {
    const rows = await transactions.run(async (manager) => {
      await manager.getRepository(Plant).insert({ id: 3n, name: 'c', tag: null });
      const own = statements.in(manager);
      return own.rows({ name: 'names', text: 'SELECT name FROM plants WHERE id = 3' });
    });
    expect(rows).toEqual([['c']]);
  });

  it('is part of another that has begun', async () => {
    const sessions: unknown[] = [];
    const moves = transactions.run(async (outer) => {
      await mover.move(1n, 3n, outer);
      await transactions.run(async (manager) => void sessions.push(manager, outer), outer);
      throw new Error('changed my mind');
    });
    await expect(moves).rejects.toThrow('changed my mind');
    expect(sessions[0]).toBe(sessions[1]);
    expect(await names()).toEqual({ 1: 'a', 2: 'b' });
  });

  it.each([
    ['the manager of the pool', () => dataSource.manager],
    ['a session without a transaction', () => dataSource.createQueryRunner().manager],
    ['a transaction that has ended', () => transactions.run((used) => Promise.resolve(used))],
  ])('is refused for %s, rather than done in part', async (_, find) => {
    const manager = await find();
    await expect(mover.move(1n, 2n, manager)).rejects.toThrow(NO_TRANSACTION);
    const own = statements.in(manager);
    await expect(own.run(rename(1, 'ours'))).rejects.toThrow(NO_TRANSACTION);
    await expect(own.rows(rename(1, 'ours'))).rejects.toThrow(NO_TRANSACTION);
    expect(await names()).toEqual({ 1: 'a', 2: 'b' });
    await manager.queryRunner?.release();
  });

  it('is repeated after a deadlock', async () => {
    let attempts = 0;
    await other.query('BEGIN');
    // The other session looks for no deadlock, so it is never the one that PostgreSQL ends.
    await other.query(`SET LOCAL deadlock_timeout = '1min'`);
    await other.query(rename(2, 'other'));
    let ended: Promise<unknown> | undefined;
    await transactions.run(async (manager) => {
      attempts += 1;
      // Otherwise, this attempt could be faster than the other session, which has just been woken, and meet it again.
      if (attempts === 2) await ended;
      await manager.getRepository(Plant).update({ id: 1n }, { name: 'ours' });
      if (attempts === 1) {
        ended = other.query(rename(1, 'other')).then(() => other.query('COMMIT'));
        await vi.waitFor(async () => {
          const waits = 'SELECT FROM pg_locks WHERE pid = $1 AND NOT granted';
          expect(await database.query(waits, [otherPid])).not.toEqual([]);
        }, PATIENCE);
      }
      await statements.in(manager).run(rename(2, 'ours'));
    });
    await ended;
    expect(attempts).toBe(2);
    expect(await names()).toEqual({ 1: 'ours', 2: 'ours' });
  });

  it('of a single statement is repeated after a deadlock', async () => {
    // The statement has stored 4 and waits for the other session to wait for it, then it waits for the other session. Its
    // repeat waits for the end of the other transaction: if it stored 4 before that, this would be another deadlock.
    const attempts = await onWrite(
      database,
      `IF NEW.id = 4 AND NEW.name = 'ours' AND (SELECT is_called FROM attempts) THEN
         WHILE EXISTS (SELECT FROM pg_locks WHERE pid = ${otherPid} AND locktype = 'transactionid' AND granted)
         LOOP PERFORM pg_sleep(0.01); END LOOP;
       END IF;
       IF NEW.id = 5 AND NEW.name = 'ours' AND nextval('attempts') = 1 THEN
         WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))
         LOOP PERFORM pg_sleep(0.01); END LOOP;
       END IF`,
    );
    await other.query('BEGIN');
    await other.query(`INSERT INTO plants (id, name) VALUES (5, 'other')`);
    const run = statements.run({
      text: `INSERT INTO plants (id, name) VALUES (4, 'ours'), (5, 'ours')`,
    });
    await vi.waitFor(async () => expect(await attempts()).toBe(1), PATIENCE);
    await other.query(`INSERT INTO plants (id, name) VALUES (4, 'other')`);
    await other.query('ROLLBACK');
    expect(await run).toMatchObject({ rowCount: 2 });
    expect(await attempts()).toBe(2);
    expect(await names()).toMatchObject({ 4: 'ours', 5: 'ours' });
    await database.query(
      'DROP TRIGGER on_write ON plants; DROP FUNCTION on_write; DROP SEQUENCE attempts',
    );
  });

  it('is repeated after a failure to serialize', async () => {
    let attempts = 0;
    await transactions.run(async (manager) => {
      attempts += 1;
      await manager.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      const plants = manager.getRepository(Plant);
      const { name } = await plants.findOneByOrFail({ id: 1n });
      if (attempts === 1) await other.query(rename(1, 'other'));
      await plants.update({ id: 1n }, { name: `${name} and ours` });
    });
    expect(attempts).toBe(2);
    expect(await names()).toEqual({ 1: 'other and ours', 2: 'b' });
  });

  it('runs what is to come after its commit once, although it is repeated', async () => {
    const found: unknown[] = [];
    const run = await transactions.run(async (manager) => {
      await manager.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      await manager.getRepository(Plant).findOneByOrFail({ id: 1n });
      transactions.afterCommit(manager, async () => found.push(await names()));
      if ((await names())[1] === 'a') await other.query(rename(1, 'other'));
      await manager.query(`UPDATE plants SET name = name || ' and ours' WHERE id = 1`);
      // A service may call its own methods with the transaction.
      await transactions.run(async (own) => {
        transactions.afterCommit(own, () => found.push('inner'));
        return Promise.resolve();
      }, manager);
      expect(found).toEqual([]);
      return 'result';
    });
    expect(run).toBe('result');
    await vi.waitFor(() => expect(found).toHaveLength(2), PATIENCE);
    expect(found).toContainEqual({ 1: 'other and ours', 2: 'b' });
    expect(found).toContain('inner');
  });

  it('runs nothing of this after a rollback', async () => {
    const hook = vi.fn<() => void>();
    const run = transactions.run((manager) => {
      transactions.afterCommit(manager, hook);
      return Promise.reject(new Error('ours'));
    });
    await expect(run).rejects.toThrow('ours');
    await transactions.run((manager) => manager.query('SELECT'));
    await hooks.onModuleDestroy();
    expect(hook).not.toHaveBeenCalled();
  });

  it('succeeds whatever this throws, which is logged', async () => {
    const thrown = [
      () => {
        throw new Error('at once');
      },
      () => Promise.reject(new Error('later')),
    ];
    await transactions.run(async (manager) => {
      for (const hook of thrown) transactions.afterCommit(manager, hook);
      return Promise.resolve();
    });
    await vi.waitFor(() => expect(lines).toHaveLength(2), PATIENCE);
    for (const text of ['at once', 'later']) {
      expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
        expect.objectContaining({
          event: 'after-commit',
          msg: 'work after a commit: it has thrown',
          err: expect.objectContaining({ message: text }) as object,
        }),
      );
    }
  });

  it('is rolled back if too much of this has not ended, and a shutdown waits for it', async () => {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    const register = (count: number) =>
      transactions.run(async (manager) => {
        for (let at = 0; at < count; at += 1) transactions.afterCommit(manager, () => ended);
        await manager.query(`UPDATE plants SET name = '${count}' WHERE id = 1`);
      });
    await register(AFTER_COMMIT.count);
    await expect(register(1)).rejects.toMatchObject({ kind: ERRORS.overloaded });
    expect(await names()).toMatchObject({ 1: String(AFTER_COMMIT.count) });
    const shutdown = hooks.onModuleDestroy();
    expect(await Promise.race([shutdown, Promise.resolve('waits')])).toBe('waits');
    end();
    await shutdown;
    await register(1);
  });

  it('of TypeORM has no place for it', async () => {
    const run = dataSource.transaction((manager) =>
      Promise.resolve(transactions.afterCommit(manager, () => {})),
    );
    await expect(run).rejects.toThrow('afterCommit() needs the manager');
  });

  it('that never succeeds fails after a few attempts', async () => {
    let attempts = 0;
    const run = transactions.run(async (manager) => {
      attempts += 1;
      await manager.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      const plants = manager.getRepository(Plant);
      await plants.findOneByOrFail({ id: 1n });
      await other.query(rename(1, `other ${attempts}`));
      await plants.update({ id: 1n }, { name: 'ours' });
    });
    await expect(run).rejects.toMatchObject({ kind: ERRORS.transactionConflict });
    expect(attempts).toBe(3);
    expect(await names()).toEqual({ 1: 'other 3', 2: 'b' });
  });

  it('is not repeated if the answer to its COMMIT was lost', async () => {
    let attempts = 0;
    const run = transactions.run(async (manager) => {
      attempts += 1;
      await manager.getRepository(Plant).update({ id: 1n }, { name: `ours ${attempts}` });
      const client = (await manager.queryRunner!.connect()) as PoolClient;
      const query = client.query.bind(client);
      vi.spyOn(client, 'query').mockImplementation((statement, values) => {
        if (statement !== 'COMMIT') return query(statement, values);
        const answer = query(statement, values);
        client.connection.stream.pause();
        void vi
          .waitFor(async () => expect(await names()).toMatchObject({ 1: 'ours 1' }), PATIENCE)
          .then(() => client.abandon());
        return answer;
      });
    });
    await expect(run).rejects.toMatchObject({ kind: ERRORS.databaseUnavailable });
    expect(attempts).toBe(1);
    expect(await names()).toMatchObject({ 1: 'ours 1' });
    await vi.waitFor(() => dataSource.query('SELECT 1'), PATIENCE);
  });

  /** Fails unless a statement waits for the other session. */
  const weWait = async () => {
    const waits = 'SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))';
    expect(await database.query(waits, [otherPid])).not.toEqual([]);
  };

  class OwnError extends Error {}

  it.each<[string, (change: () => Promise<unknown>, manager: EntityManager) => Promise<unknown>]>([
    ['passed on', (change) => change()],
    [
      'wrapped',
      (change) =>
        change().catch((cause: unknown) => {
          throw new OwnError('ours', { cause });
        }),
    ],
    [
      'replaced',
      (change) =>
        change().catch(() => {
          throw new OwnError('ours');
        }),
    ],
    ['one of several', (change) => Promise.any([change(), Promise.reject(new OwnError())])],
    ['caught', (change) => change().catch(() => {})],
    [
      'caught with a savepoint',
      async (change, manager) => {
        await manager.query('SAVEPOINT before');
        await change().catch(() => manager.query('ROLLBACK TO before'));
      },
    ],
  ])('is repeated where it waits for longer if the failure to lock a row is %s', async (_, use) => {
    await other.query('BEGIN');
    await other.query(rename(1, 'other'));
    let attempts = 0;
    const run = transactions.run(async (manager) => {
      attempts += 1;
      await use(() => statements.in(manager).run(rename(1, 'ours')), manager);
      await statements.in(manager).run(rename(2, 'ours'));
    });
    await vi.waitFor(async () => {
      expect(attempts).toBe(2);
      await weWait();
    }, PATIENCE);
    await other.query('COMMIT');
    await run;
    expect(attempts).toBe(2);
    expect(await names()).toEqual({ 1: 'ours', 2: 'ours' });
  });

  it('fails in its own way if the row stays locked', async () => {
    await other.query('BEGIN');
    await other.query(rename(1, 'other'));
    const run = transactions.run((manager) =>
      statements
        .in(manager)
        .run(rename(1, 'ours'))
        .catch((cause: unknown) => {
          throw new OwnError('ours', { cause });
        }),
    );
    await expect(run).rejects.toThrow(OwnError);
    await other.query('ROLLBACK');
  });

  it.each([
    ['sets a limit of its own', "SET LOCAL lock_timeout = '300ms'", ''],
    ['sets it with a function', "SELECT set_config('lock_timeout', '300ms', true)", ''],
    ['does not wait', 'SELECT 1', 'NOWAIT'],
  ])('that %s for a locked row runs once', async (_, before, wait) => {
    await other.query('BEGIN');
    await other.query(rename(1, 'other'));
    let attempts = 0;
    const run = transactions.run(async (manager) => {
      attempts += 1;
      await manager.query(before);
      await manager.query(`SELECT FROM plants WHERE id = 1 FOR UPDATE ${wait}`);
    });
    await expect(run).rejects.toMatchObject({ kind: ERRORS.rowLocked });
    expect(attempts).toBe(1);
    await other.query('ROLLBACK');
  });

  it('that goes on after the failure of a statement does not seem to be committed', async () => {
    const run = transactions.run(async (manager) => {
      const own = statements.in(manager);
      await own.run(rename(1, 'ours'));
      await own.run({ text: 'SELECT 1 / 0' }).catch(() => {});
    });
    await expect(run).rejects.toThrow(RolledBackError);
    expect(await names()).toEqual({ 1: 'a', 2: 'b' });
    await mover.move(1n, 2n);
  });
});

describe('a group of creates', () => {
  let service: TestService;

  beforeEach(async () => {
    service = await startTestService();
  });

  afterEach(() => service.stop());

  it.each(['40P01', '40001'])(
    'that always ends with %s is refused as a whole, and the database counts as available',
    async (state) => {
      const { database } = service;
      await database.query('CREATE EXTENSION dblink');
      // `RAISE` in a trigger would be the error of a row.
      const conflict = `DO 'BEGIN RAISE EXCEPTION USING ERRCODE = ''${state}''; END'`;
      const attempts = await onWrite(
        database,
        `PERFORM nextval('attempts'), dblink_exec('${database.url}', ${escapeLiteral(conflict)})`,
      );
      const answers = await Promise.all([1, 2, 3].map((id) => service.post({ id, name: 'ours' })));
      for (const answer of answers) expectUnavailable(answer, 50311);
      expect(answers[0]!.text).toBe(
        '{"error":50311,"message":"concurrent transactions are in conflict"}',
      );
      // Three for each group. The requests may arrive apart.
      expect([3, 6, 9]).toContain(await attempts());
      expect(service.log.filter(({ level }) => Number(level) > 30)).toEqual([]);
    },
  );
});
