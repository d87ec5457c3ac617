import type { DataSource, EntityManager, QueryRunner, ReplicationMode } from 'typeorm';
import type { Bulkheads } from '../bulkheads.js';
import type { PoolClient } from '../connections/pool-client.js';
import { insideTransaction } from './inside-transaction.js';

type Method = (...parts: unknown[]) => Promise<never>;
type Work = (manager: EntityManager) => Promise<unknown>;

/**
 * Makes what TypeORM does wait apart from others. A statement outside of transactions gets a connection of its own, with a slot,
 * and is repeated where others wait for rows. A transaction, or a query runner that the service connects, holds a slot as long
 * as its connection.
 */
export function waitApart(dataSource: DataSource, bulkheads: Bulkheads): void {
  const { driver } = dataSource;
  const createRunner = dataSource.createQueryRunner.bind(dataSource);
  const createManager = dataSource.createEntityManager.bind(dataSource);
  Object.assign(dataSource, {
    createQueryRunner: (mode: ReplicationMode = 'master') => {
      const runner = createRunner(mode);
      waitApartIn(runner, () => driver.createQueryRunner(mode), bulkheads);
      return runner;
    },
    createEntityManager: (runner?: QueryRunner) => {
      const manager = createManager(runner);
      noteTransactions(manager);
      return manager;
    },
  });
  noteTransactions(dataSource.manager);
}

function waitApartIn(runner: QueryRunner, create: () => QueryRunner, bulkheads: Bulkheads): void {
  const query = runner.query.bind(runner) as Method;
  const connect = runner.connect.bind(runner) as () => Promise<PoolClient>;
  const release = runner.release.bind(runner);
  let connecting: Promise<PoolClient> | undefined;
  let giveBack = (): void => {};
  const connectApart = () =>
    (connecting ??= new Promise((resolve, reject) => {
      const released = new Promise<void>((end) => (giveBack = end));
      const hold = async (): Promise<void> => {
        resolve(await connect());
        await released;
      };
      bulkheads.unrepeatable.run(hold).catch(reject);
    }));
  const releaseAll = async () => {
    await release();
    giveBack();
  };
  const queryApart = async (...parts: unknown[]) => {
    const isOwn = connecting !== undefined || runner.isTransactionActive || runner.isReleased;
    if (isOwn) return query(...parts);
    return bulkheads.apart(bulkheads.statements, async (lockWait) => {
      const single = Object.assign(create(), { manager: runner.manager });
      const run = () => (single.query as Method)(...parts);
      try {
        const client = (await single.connect()) as PoolClient;
        return await (lockWait === undefined ? run() : client.limitingLockWait(lockWait, run));
      } finally {
        await single.release();
      }
    });
  };
  Object.assign(runner, { connect: connectApart, release: releaseAll, query: queryApart });
}

/** Lets tasks in its transactions know that these hold connections. */
function noteTransactions(manager: EntityManager): void {
  const transaction = manager.transaction.bind(manager) as Method;
  const noted = async (...parts: unknown[]) => {
    if (manager.queryRunner?.isTransactionActive === true) return transaction(...parts);
    const noting = (part: unknown): unknown =>
      typeof part === 'function'
        ? (own: EntityManager) => insideTransaction(() => (part as Work)(own))
        : part;
    return transaction(...parts.map(noting));
  };
  Object.assign(manager, { transaction: noted });
}
