import { setImmediate as immediate } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import type { QueryResult } from 'pg';
import { QueryRunnerAlreadyReleasedError } from 'typeorm';
import type { DataSource, EntityManager } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ERRORS } from '../../packages/framework/src/errors/common-errors.js';
import { poolOf } from '../../packages/framework/src/database/connections/bounded-pool.js';
import type { BoundedPool } from '../../packages/framework/src/database/connections/bounded-pool.js';
import type { PoolClient } from '../../packages/framework/src/database/connections/pool-client.js';
import { connect } from '../../packages/framework/src/database/connect.js';
import { Statements } from '../../packages/framework/src/database/statements.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { createLogger } from '../../packages/framework/src/observability/logger.js';
import { NO_TRACER } from '../../packages/framework/src/observability/tracer.js';
import type { Tracer } from '../../packages/framework/src/observability/tracer.js';
import { createDataSource } from '../support/data-source.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { lockPlants, WAIT_FOR_LOCKS } from '../support/plants-lock.js';
import { startPooler } from '../support/pooler.js';
import type { Pooler } from '../support/pooler.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { startTestService, unlessBusy } from '../support/test-service.js';

let server: TestDatabase;
let pooler: Pooler;

beforeAll(async () => {
  server = await createTestDatabase();
  pooler = await startPooler(server.url);
});

afterAll(async () => {
  await pooler.stop();
  await server.drop();
});

/** The state of a connection's session, before and after a named statement. */
async function session(url: string) {
  const dataSource = createDataSource(url);
  const log = createLogger('silent');
  await connect(dataSource, { log, signal: new AbortController().signal });
  const statements = new Statements(dataSource);
  try {
    const statement = {
      name: 'bound',
      text: `SELECT current_setting('statement_timeout') AS bound`,
      values: [],
    };
    await expect(
      statements.run({ name: 'wrong', text: 'SELECT 1 / $1::int', values: [0] }),
    ).rejects.toThrow(/division by zero/);
    const { rows } = await statements.run(statement);
    expect((await statements.run(statement)).rows).toEqual(rows);
    // On the connection itself, without a transaction around it.
    const { master } = dataSource.driver as unknown as { master: BoundedPool };
    const client = await master.lend();
    const {
      rows: [left],
    } = await Client.prototype.query.call<Client, [string], Promise<QueryResult>>(
      client as unknown as Client,
      `SELECT current_setting('statement_timeout') AS bound,
         (SELECT count(*)::int FROM pg_prepared_statements WHERE name = 'bound') AS prepared,
         pg_current_xact_id_if_assigned() AS transaction`,
    );
    client.release();
    return { during: rows, left };
  } finally {
    await dataSource.destroy();
  }
}

describe('a session of PostgreSQL', () => {
  it('without a pooler has a statement timeout and keeps prepared statements', async () => {
    expect(await session(server.url)).toEqual({
      during: [{ bound: '5s' }],
      left: { bound: '5s', prepared: 1, transaction: null },
    });
  });

  it('behind a pooler stays unchanged, and statements still have a timeout', async () => {
    expect(await session(pooler.url)).toEqual({
      during: [{ bound: '5s' }],
      left: { bound: '0', prepared: 0, transaction: null },
    });
  });
});

describe('what a repository throws', () => {
  let dataSource: DataSource;

  beforeAll(async () => {
    dataSource = createDataSource(server.url);
    await dataSource.initialize();
    poolOf(dataSource)!.startServing();
  });

  afterAll(() => dataSource.destroy());

  it('is the failure of the driver, without the statement', async () => {
    const failure: unknown = await dataSource
      .query('SELECT 1 / $1::int', [0])
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(DatabaseError);
    expect(failure).toMatchObject({ code: '22012' });
    expect(failure).not.toHaveProperty('query');
  });

  it.each<[string, (manager: EntityManager) => Promise<unknown>]>([
    ['a statement', (manager) => manager.query('SELECT 1')],
    ['a query builder', (manager) => manager.createQueryBuilder(Plant, 'plant').getMany()],
    ['a nested transaction', (manager) => manager.transaction(() => Promise.resolve())],
  ])('is an outage when its connection broke before %s', async (_, next) => {
    const broken = dataSource.transaction(async (manager) => {
      const client = (await manager.queryRunner!.connect()) as PoolClient;
      const end = new Promise((resolve) => void client.once('end', resolve));
      await server.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
      await end;
      return next(manager);
    });
    await expect(broken).rejects.toMatchObject({ kind: ERRORS.databaseUnavailable });
    // The pool has a connection again.
    await vi.waitFor(() => dataSource.query('SELECT 1'), PATIENCE);
  });

  it('after the release of its connection is a bug', async () => {
    const runner = dataSource.createQueryRunner();
    await runner.connect();
    await runner.release();
    await expect(runner.query('SELECT 1')).rejects.toThrow(QueryRunnerAlreadyReleasedError);
  });
});

describe('a busy process', () => {
  it('does not mistake its own delay for an outage of the database', async () => {
    const lines: string[] = [];
    const log = createLogger('warn', { write: (line) => void lines.push(line) });
    const dataSource = createDataSource(server.url, { poolMax: 3, logger: log });
    await connect(dataSource, { log, signal: new AbortController().signal });
    const statements = new Statements(dataSource);
    try {
      // The second statement opens a connection, with a timeout of two seconds.
      const answers = [1, 2].map(() => statements.run({ text: 'SELECT 1', values: [] }));
      await immediate();
      // Blocks the process.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_200);
      await Promise.allSettled(answers);

      const { rowCount } = await statements.run({ text: 'SELECT 1', values: [] });
      expect(rowCount).toBe(1);
      expect(lines).toEqual([]);
    } finally {
      await dataSource.destroy();
    }
  });
});

describe('the service', () => {
  const BEHAVIOUR =
    'creates plants alone and in groups, distinguishes replays from conflicts, and finds plants';

  it(`${BEHAVIOUR}, behind a pooler`, async () => {
    const sent = await expectBehaviour({ ...server, url: pooler.url });
    expect(sent).toContainEqual(expect.stringMatching(/^WITH [^]* unnest[^]*INSERT/));
  });

  it(`${BEHAVIOUR}, with the statements for Citus`, async () => {
    const database = await createTestDatabase();
    // By this table, the service notices Citus. `npm run test:citus` runs Citus itself.
    await database.query(
      'SET allow_system_table_mods = on; CREATE TABLE pg_catalog.pg_dist_partition ()',
    );
    const sent = await expectBehaviour(database);
    expect(sent).toContainEqual(expect.stringMatching(/^INSERT .* VALUES \(\$1[^)]*\),\(\$/));
    expect(sent).not.toContainEqual(expect.stringMatching(/^WITH [^]* unnest[^]*INSERT/));
    await database.drop();
  });

  /** @returns the statements that the service sent */
  async function expectBehaviour(database: TestDatabase): Promise<string[]> {
    const sent: string[] = [];
    const tracer: Tracer = {
      ...NO_TRACER,
      statement: (text, run) => {
        sent.push(text);
        return run();
      },
    };
    const service = await startTestService({
      database,
      tracer,
      parameters: WAIT_FOR_LOCKS,
    });
    try {
      const plants = Array.from({ length: 100 }, (_, id) => ({ id, name: `Plant ${id}` }));
      expect((await service.post(plants[0])).status).toBe(200);
      // While two groups wait for the lock, the other plants become a group.
      const unlock = await lockPlants(database);
      // Behind a pooler, a statement waits for the lock no longer than for others.
      const posted = plants.map((plant) => unlessBusy(() => service.post(plant)));
      await vi.waitFor(async () => {
        const metrics = await (await fetch(`${service.managementUrl}/metrics`)).text();
        expect(metrics).toMatch(
          /^plant_store_creations_waiting\{resource="plants"\} ([2-9]|\d\d)$/m,
        );
      }, PATIENCE);
      await unlock();
      const answers = await Promise.all(posted);
      expect(answers.map(({ json }) => json)).toEqual(plants.map(({ name }) => ({ name })));
      const rivals = ['a', 'b', 'c', 'd', 'Plant 9', 'e', 'Plant 9'];
      const compared = await Promise.all(rivals.map((name) => service.post({ id: 9, name })));
      expect(compared.map(({ status }) => status)).toEqual([400, 400, 400, 400, 200, 400, 200]);
      const conflict = await service.post({ id: 7, name: 'another' });
      expect([conflict.status, conflict.json['error']]).toEqual([400, 40009]);
      expect((await service.request('GET', '/plants/7')).json).toEqual(plants[7]);
      return sent;
    } finally {
      await service.stop();
    }
  }
});
