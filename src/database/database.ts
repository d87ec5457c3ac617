import { performance } from 'node:perf_hooks';
import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Pool, QueryResult, QueryResultRow } from 'pg';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import type { EntityManager, QueryRunner } from 'typeorm';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { LOGGER } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import type { PoolUse } from '../observability/metrics.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import { describeFailure, isDisconnection, isOutage, isReadOnly } from './database-failure.js';
import { DATABASE_LIMITS } from './data-source.js';
import { Outage } from './outage.js';
import { PoolClient } from './pool-client.js';

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

type Work<T> = (client: PoolClient, runner: QueryRunner) => Promise<T>;

/** The database as the repositories see it: bounded waits, and failures that mean something. */
@Injectable()
export class Database implements OnModuleDestroy {
  /** Those of the pool that have been used. */
  private readonly connections = new Set<PoolClient>();

  /** Somebody has waited for a connection in vain, and nothing has been answered since. */
  private isExhausted = false;

  private readonly outage = new Outage({
    probe: () => this.probe(),
    began: (reason) => {
      this.logger.error({ reason: describeFailure(reason) }, 'the database is out of reach');
      // They would be found dead one after the other, each by a caller who waits for it.
      for (const connection of this.connections) connection.abandon();
    },
    ended: () => this.logger.info('the database is back'),
  });

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(TRACER) private readonly tracer: Tracer,
    metrics: Metrics,
  ) {
    metrics.observePool(() => this.poolUse());
  }

  onModuleDestroy(): void {
    this.outage.close();
  }

  /**
   * Runs statements, and nothing else, in one transaction.
   *
   * @throws PlantStoreError `database-unavailable`, or `overloaded` when all connections are taken
   */
  async transaction<T>(statements: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.traced(undefined, (_client, runner) =>
      runner.manager.transaction(async (manager) => {
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
    return this.traced(statement.text, (client) =>
      client.hasOwnSession
        ? client.query<Row>({ ...statement, values: [...statement.values] })
        : inSharedSession<Row>(client, statement),
    );
  }

  private traced<T>(text: string | undefined, work: Work<T>): Promise<T> {
    return this.tracer.statement(text, () => this.withConnection(work));
  }

  private async withConnection<T>(work: Work<T>): Promise<T> {
    if (this.outage.isKnown) throw new PlantStoreError('database-unavailable');
    const { used, max, pending } = this.poolUse();
    if (pending >= MAX_WAITING || (this.isExhausted && used >= max)) {
      throw new PlantStoreError('overloaded');
    }
    const start = performance.now();
    const loopAtStart = performance.eventLoopUtilization();
    const runner = this.dataSource.createQueryRunner();
    let client: PoolClient | undefined;
    try {
      client = await this.lent(runner);
      const result = await work(client, runner);
      this.isExhausted = false;
      return result;
    } catch (error) {
      if (error instanceof PlantStoreError) throw error;
      // Who is not let in has asked for nothing yet, so for nothing wrong.
      if (client !== undefined && !isOutage(error)) throw error;
      // The address may lead to another server by now, and a connection stays where it is.
      if (isReadOnly(error)) void client?.end();
      // A server that lets nobody in is as good as away; where some are in, they are served.
      if (isDisconnection(error) || this.connections.size === 0) {
        // Half of the time at least was not our own: a process that is busy itself sees that its time is up
        // before it sees an answer that has long been there.
        const { idle } = performance.eventLoopUtilization(loopAtStart);
        const waited = performance.now() - start;
        const inVain = waited >= DATABASE_LIMITS.connection && idle >= waited / 2;
        this.outage.suspect(error, inVain);
      }
      throw new PlantStoreError('database-unavailable', undefined, { cause: error });
    } finally {
      await runner.release();
    }
  }

  private async lent(runner: QueryRunner): Promise<PoolClient> {
    try {
      const client = (await runner.connect()) as PoolClient;
      if (!this.connections.has(client)) {
        this.connections.add(client);
        client.once('end', () => this.connections.delete(client));
      }
      return client;
    } catch (error) {
      if (!this.meansExhaustion(error)) throw error;
      this.isExhausted = true;
      throw new PlantStoreError('overloaded', undefined, { cause: error });
    }
  }

  /** On a connection of its own: those of the pool may be dead without knowing. */
  private async probe(): Promise<void> {
    const client = new PoolClient(this.pool().options);
    // After an answer that is there already, but was not read yet.
    const giveUp = () => setImmediate(() => client.abandon());
    const bound = setTimeout(giveUp, DATABASE_LIMITS.connection);
    try {
      await client.connect();
      await client.query('SELECT 1');
    } finally {
      clearTimeout(bound);
      client.abandon();
    }
  }

  /**
   * Whether no connection became free in time. The pool gives this failure neither a code nor a cause,
   * as it does those of a connection that could not be made.
   */
  private meansExhaustion(failure: unknown): boolean {
    const { totalCount, idleCount, options } = this.pool();
    return (
      failure instanceof Error &&
      !('code' in failure) &&
      failure.cause === undefined &&
      totalCount - idleCount >= options.max
    );
  }

  private poolUse(): PoolUse {
    const { totalCount, idleCount, waitingCount, options } = this.pool();
    return {
      used: totalCount - idleCount,
      idle: idleCount,
      pending: waitingCount,
      max: options.max,
    };
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
