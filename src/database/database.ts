import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Pool, QueryResult, QueryResultRow } from 'pg';
import { DataSource, QueryFailedError } from 'typeorm';
import type { EntityManager } from 'typeorm';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { Metrics } from '../operations/metrics.js';
import type { PoolUse } from '../operations/metrics.js';
import { isOutage } from './database-failure.js';
import { DATABASE_LIMITS } from './data-source.js';
import type { PoolClient } from './pool-client.js';

/** How many may wait for a connection of the pool. */
const MAX_WAITING = 1_000;

/** For this transaction only: behind PgBouncer a session belongs to many clients. */
const BOUND_STATEMENTS = `SET LOCAL statement_timeout = ${DATABASE_LIMITS.statement}`;

export interface Statement {
  /** Under which a session of our own keeps it, and its plan, prepared; of this text alone. */
  readonly name?: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The database as the repositories see it: bounded waits, and failures that mean something. */
@Injectable()
export class Database {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    metrics: Metrics,
  ) {
    metrics.observePool(() => this.poolUse());
  }

  /**
   * Runs statements, and nothing else, in one transaction.
   *
   * @throws PlantStoreError `database-unavailable`, or `overloaded` when all connections are taken
   */
  async transaction<T>(statements: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.bounded(() =>
      this.dataSource.transaction(async (manager) => {
        // Not waited for: the connection keeps the order, and a round trip is saved.
        const [, result] = await Promise.all([
          manager.query(BOUND_STATEMENTS),
          statements(manager),
        ]);
        return result;
      }),
    );
  }

  /**
   * Runs one statement in a transaction of its own, in one round trip.
   *
   * @throws PlantStoreError `database-unavailable`, or `overloaded` when all connections are taken
   */
  async statement<Row extends QueryResultRow>(statement: Statement): Promise<QueryResult<Row>> {
    return this.bounded(async () => {
      const runner = this.dataSource.createQueryRunner();
      try {
        const client = (await runner.connect()) as PoolClient;
        return client.hasOwnSession
          ? await client.query<Row>({ ...statement, values: [...statement.values] })
          : await inSharedSession<Row>(client, statement);
      } finally {
        await runner.release();
      }
    });
  }

  private async bounded<T>(work: () => Promise<T>): Promise<T> {
    if (this.poolUse().pending >= MAX_WAITING) throw new PlantStoreError('overloaded');
    try {
      return await work();
    } catch (error) {
      if (!isOutage(error)) throw error;
      const code = this.isExhausted(error) ? 'overloaded' : 'database-unavailable';
      throw new PlantStoreError(code, undefined, { cause: error });
    }
  }

  /**
   * Whether the failure is that no connection became free in time. The pool gives it no code: it is
   * the plain error from before any statement, at a time when all connections are taken. That of a
   * connection which could not be made has a cause.
   */
  private isExhausted(outage: Error): boolean {
    if (outage instanceof QueryFailedError || 'code' in outage || outage.cause !== undefined) {
      return false;
    }
    const { totalCount, idleCount, options } = this.pool();
    return totalCount - idleCount >= options.max;
  }

  private poolUse(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.pool();
    return { used: totalCount - idleCount, idle: idleCount, pending: waitingCount };
  }

  /** TypeORM's pool; there is none before the first connection. */
  private pool(): Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount' | 'options'> {
    const { master } = this.dataSource.driver as unknown as { readonly master?: Pool };
    return master ?? NO_POOL;
  }
}

const NO_POOL = { totalCount: 0, idleCount: 0, waitingCount: 0, options: { max: 0 } } as Pool;

/**
 * None of the parts is waited for before the next is sent. After a failure, whichever it is, PostgreSQL
 * turns the COMMIT into a ROLLBACK (manual, chapter 3.4).
 */
async function inSharedSession<Row extends QueryResultRow>(
  client: PoolClient,
  { text, values }: Statement,
): Promise<QueryResult<Row>> {
  const [begun, result, committed] = await Promise.allSettled([
    client.query(`BEGIN; ${BOUND_STATEMENTS}`),
    client.query<Row>(text, [...values]),
    client.query('COMMIT'),
  ]);
  for (const part of [begun, committed]) {
    if (part.status === 'rejected') throw part.reason;
  }
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}
