import { performance } from 'node:perf_hooks';
import type { EventLoopUtilization } from 'node:perf_hooks';
import { Pool } from 'pg';
import type { PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { PoolUse } from '../observability/metrics.js';
import { operationOf } from '../observability/tracer.js';
import type { Observability } from '../observability/observability.module.js';
import {
  describeFailure,
  isDisconnection,
  isOutage,
  isReadOnly,
  StandbyError,
} from './database-failure.js';
import { DATABASE_LIMITS } from './limits.js';
import { Outage } from './outage.js';
import { PoolClient } from './pool-client.js';
import type { StatementRunner } from './pool-client.js';

/** How many may wait for a connection. */
const MAX_WAITING = 1_000;

/** What pg-pool says when no connection became free in time: it has no code for that. */
const NONE_FREE = 'timeout exceeded when trying to connect';

/**
 * Milliseconds after which an address that leads to a standby is more than a failover. Patroni notices a lost
 * leader after its `ttl`, 30 s by default.
 */
const FAILOVER = 60_000;

/**
 * Milliseconds without a refusal after which the database is said to serve again: on a full disk, some rows still
 * find room within a page.
 */
const CALM = 5_000;

export type BoundedPoolOptions = PoolConfig & { readonly observability: Observability };

type OnConnection = (
  failure: Error | undefined,
  client: PoolClient | undefined,
  release: (failure?: Error) => void,
) => void;

/** node-postgres' pool as it is called: by TypeORM with a callback. */
const CallbackPool = Pool as unknown as new (config: object) => Omit<Pool, 'connect' | 'end'> & {
  connect(callback: OnConnection): void;
  end(callback: () => void): void;
};

/**
 * A pool whose connections lead to a primary, and whose callers wait a bounded time: nobody waits for a database
 * that is known to be away, or behind others who have waited in vain. Failures reach the callers as
 * {@link PlantStoreError}: `database-unavailable`, or `overloaded` when all connections are taken. What a
 * statement itself is to blame for is passed on as PostgreSQL's error.
 */
export class BoundedPool extends CallbackPool implements StatementRunner {
  private readonly observability: Observability;
  private readonly connections = new Set<PoolClient>();

  /** Until then it is the start that waits for the database, and reports PostgreSQL's own errors. */
  private isServing = false;

  /** Somebody has waited for a connection in vain, and nothing has been answered since. */
  private isExhausted = false;

  /**
   * Kinds of statements, such as INSERT, that the database refuses for a reason of its own, such as a full disk,
   * with the time of the last refusal.
   */
  private readonly refusals = new Map<string, number>();

  private readonly outage = new Outage({
    probe: () => this.probe(),
    began: (reason) => {
      const { logger } = this.observability;
      logger.error({ reason: describeFailure(reason) }, 'the database is out of reach');
      // They would be found dead one after the other, each by a caller who waits for it.
      for (const connection of this.connections) connection.abandon();
    },
    ended: () => this.observability.logger.info('the database is back'),
  });

  constructor({ observability, ...options }: BoundedPoolOptions) {
    super({
      ...options,
      Client: PoolClient,
      onConnect: (client: PoolClient) => this.adopt(client),
    });
    this.observability = observability;
  }

  /** From now on, failures are reported to callers, and an outage is watched. */
  startServing(): void {
    this.isServing = true;
  }

  get use(): PoolUse {
    const { totalCount, idleCount, waitingCount, options } = this;
    return {
      used: totalCount - idleCount,
      idle: idleCount,
      pending: waitingCount,
      max: options.max,
    };
  }

  /** Whether no connection leads to a primary, for longer than a failover takes. */
  get isOnStandby(): boolean {
    return this.outage.isKnownFor(FAILOVER) && this.outage.reason instanceof StandbyError;
  }

  /** Lends a connection, which must be released. */
  lend(): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      this.connect((failure, client) => {
        if (client === undefined) reject(failure);
        else resolve(client);
      });
    });
  }

  override connect(callback: OnConnection): void {
    const refusal = this.refusal();
    if (refusal !== undefined) {
      callback(refusal, undefined, () => {});
      return;
    }
    const start = now();
    super.connect((failure, client, release) => {
      callback(failure && this.connectionFailure(failure, start), client, release);
    });
  }

  override end(callback: () => void): void {
    this.outage.close();
    super.end(callback);
  }

  run<T>(client: PoolClient, text: string, send: () => Promise<T>): Promise<T> {
    return this.observability.tracer.statement(text, async () => {
      const start = now();
      const operation = operationOf(text);
      try {
        const result = await send();
        this.isExhausted = false;
        this.noteSuccess(operation);
        return result;
      } catch (error) {
        throw this.statementFailure(client, operation, error, start);
      }
    });
  }

  private async adopt(client: PoolClient): Promise<void> {
    // The pool's own bound ends with the connection, before the session is asked anything.
    await bounded(client, () => client.adoptSession(DATABASE_LIMITS.statement, this));
    this.connections.add(client);
    client.once('end', () => this.connections.delete(client));
    this.noteSuccess('new connections');
  }

  /** Why nobody has to wait for a connection to know that there will be none. */
  private refusal(): PlantStoreError | undefined {
    if (this.outage.isKnown) return new PlantStoreError('database-unavailable');
    const { used, max, pending } = this.use;
    return pending >= MAX_WAITING || (this.isExhausted && used >= max)
      ? new PlantStoreError('overloaded')
      : undefined;
  }

  private connectionFailure(failure: Error, start: Moment): Error {
    if (!this.isServing) return failure;
    if (failure.message === NONE_FREE) {
      this.isExhausted = true;
      return new PlantStoreError('overloaded');
    }
    // Where some connections lead to a server that serves, a server that refuses others is no outage.
    if (isDisconnection(failure) || this.connections.size === 0) this.suspect(failure, start);
    else this.noteRefusal('new connections', failure);
    return new PlantStoreError('database-unavailable');
  }

  private statementFailure(
    client: PoolClient,
    operation: string,
    error: unknown,
    start: Moment,
  ): unknown {
    if (!this.isServing || !isOutage(error)) return error;
    // The address may lead to another server by now, and a connection stays where it is.
    if (isReadOnly(error)) void client.end();
    if (isDisconnection(error) || this.connections.size === 0) this.suspect(error, start);
    else this.noteRefusal(operation, error);
    return new PlantStoreError('database-unavailable');
  }

  private noteRefusal(operation: string, error: unknown): void {
    if (!this.refusals.has(operation)) {
      const reason = describeFailure(error);
      this.observability.logger.error({ reason }, `the database refuses ${operation}`);
    }
    this.refusals.set(operation, performance.now());
  }

  private noteSuccess(operation: string): void {
    const last = this.refusals.get(operation);
    if (last === undefined || performance.now() - last < CALM) return;
    this.refusals.delete(operation);
    this.observability.logger.info(`the database performs ${operation} again`);
  }

  private suspect(failure: Error, start: Moment): void {
    // Half of the time at least was not our own: a process that is busy itself sees that its time is up
    // before it sees an answer that has long been there.
    const { idle } = performance.eventLoopUtilization(start.loop);
    const waited = performance.now() - start.time;
    const inVain = waited >= DATABASE_LIMITS.connection && idle >= waited / 2;
    this.outage.suspect(failure, inVain);
  }

  /** On a new connection: the connections of the pool may be broken without having noticed it. */
  private async probe(): Promise<void> {
    const client = new PoolClient(this.options);
    try {
      await bounded(client, async () => {
        await client.connect();
        await client.adoptSession(DATABASE_LIMITS.statement);
      });
    } finally {
      client.abandon();
    }
  }
}

/** Abandons a connection that is not there in time. */
async function bounded(client: PoolClient, connecting: () => Promise<void>): Promise<void> {
  // After an answer that is there already, but was not read yet.
  const giveUp = () => setImmediate(() => client.abandon());
  const timer = setTimeout(giveUp, DATABASE_LIMITS.connection);
  try {
    await connecting();
  } finally {
    clearTimeout(timer);
  }
}

interface Moment {
  readonly time: number;
  readonly loop: EventLoopUtilization;
}

function now(): Moment {
  return { time: performance.now(), loop: performance.eventLoopUtilization() };
}

/** TypeORM's pool; there is none before the first connection. */
export function poolOf({ driver }: DataSource): BoundedPool | undefined {
  return (driver as unknown as { readonly master?: BoundedPool }).master;
}
