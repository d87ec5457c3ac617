import type { DataSource, QueryRunner } from 'typeorm';
import type { Bulkheads } from '../bulkheads.js';
import type { PoolClient } from '../connections/pool-client.js';
import { RowLockedError } from '../database-error.js';
import { insideTransaction, isInsideTransaction } from './inside-transaction.js';

/** Methods of a manager that begin a transaction. Repositories call them. */
const BEGIN = ['transaction', 'save', 'remove', 'softRemove', 'recover'] as const;

type Method = (...parts: unknown[]) => Promise<never>;

/** Private in TypeORM, or read-only. */
interface PostgresQueryRunner extends Omit<QueryRunner, 'isReleased'> {
  isReleased: boolean;
  databaseConnection: unknown;
  databaseConnectionPromise: unknown;
}

/**
 * Makes statements of repositories and of TypeORM wait for locked rows apart from others, and transactions that
 * TypeORM begins take slots. A query runner that the service has connected itself keeps its connection, and is left
 * alone.
 */
export function waitApart({ driver, manager }: DataSource, bulkheads: Bulkheads): void {
  const create = driver.createQueryRunner.bind(driver);
  driver.createQueryRunner = (mode) => {
    const runner = create(mode);
    waitApartIn(runner as unknown as PostgresQueryRunner, bulkheads);
    return runner;
  };
  const methods = manager as unknown as Record<(typeof BEGIN)[number], Method>;
  for (const name of BEGIN) {
    const begin = methods[name].bind(manager);
    methods[name] = async (...parts) =>
      isInsideTransaction()
        ? begin(...parts)
        : bulkheads.unrepeatable.run(() => insideTransaction(() => begin(...parts)));
  }
}

function waitApartIn(runner: PostgresQueryRunner, bulkheads: Bulkheads): void {
  const query = runner.query.bind(runner) as Method;
  runner.query = async (...parts: unknown[]) => {
    if (runner.databaseConnectionPromise !== undefined || runner.isTransactionActive) {
      return query(...parts);
    }
    return bulkheads.apart(bulkheads.statements, async (lockWait) => {
      if (lockWait === undefined) return query(...parts);
      const client = (await runner.connect()) as PoolClient;
      try {
        return await client.limitingLockWait(lockWait, () => query(...parts));
      } catch (error) {
        if (error instanceof RowLockedError) await disconnect(runner);
        throw error;
      }
    });
  };
}

/** Gives the connection back. The query runner can be used again. */
async function disconnect(runner: PostgresQueryRunner): Promise<void> {
  await runner.release();
  runner.isReleased = false;
  runner.databaseConnection = undefined;
  runner.databaseConnectionPromise = undefined;
}
