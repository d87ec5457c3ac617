import { performance } from 'node:perf_hooks';
import type { EventLoopUtilization } from 'node:perf_hooks';
import { callbackify } from 'node:util';
import { DatabaseError, Pool } from 'pg';
import type { PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';
import { databaseServers } from '../../config/database-url.js';
import type { DatabaseServers } from '../../config/database-url.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';
import type { PoolUse } from '../../observability/metrics.js';
import { operationOf } from '../../observability/tracer.js';
import type { Observability } from '../../observability/observability.module.js';
import {
  describeFailure,
  isDisconnection,
  isOutage,
  isOnlyStandby,
  isReadOnly,
  isTimeout,
  OutdatedPrimaryError,
  RefusedStatementError,
  ReplyTimeoutError,
} from '../database-failure.js';
import { findPrimary, hostOf } from './find-primary.js';
import { DATABASE_LIMITS } from '../limits.js';
import { Outage } from './outage.js';
import { PoolClient } from './pool-client.js';
import type { StatementRunner, Timeline } from './pool-client.js';

/** Most requests that may wait for a connection. */
const MAX_WAITING = 1_000;

/** Message of pg-pool's timeout error, which has no code. */
const POOL_TIMEOUT = 'timeout exceeded when trying to connect';

/** A failover is over after this time, in milliseconds. Patroni detects a lost leader after its `ttl`, 30 s by default. */
const FAILOVER = 60_000;

/**
 * Milliseconds without a refusal until the database counts as recovered. On a full disk, some statements still succeed,
 * because their rows fit into existing pages.
 */
const RECOVERY = 5_000;

export type BoundedPoolOptions = PoolConfig & {
  /** With one host or several. */
  readonly connectionString: string;
  readonly replyTimeout: number;
  readonly observability: Observability;
};

type OnConnection = (
  failure: Error | undefined,
  client: PoolClient | undefined,
  release: (failure?: Error) => void,
) => void;

/** node-postgres' pool with the types of its callback API, which TypeORM uses. */
const CallbackPool = Pool as unknown as new (config: object) => Omit<Pool, 'connect' | 'end'> & {
  connect(callback: OnConnection): void;
  end(callback: () => void): void;
};

/**
 * A pool with connections to a primary only. If the URL has several hosts, all connections lead to the host that was
 * last found to be the primary; when it fails, the pool looks for the primary again. A request for a connection waits
 * until a timeout, and fails at once during an outage or after other requests have timed out. Failures are
 * {@link PlantStoreError}s: `pool-exhausted` if all connections are in use, `database-too-slow` and `row-locked` if the
 * server ended the statement, otherwise `database-unavailable`. Errors that the statement itself has caused are passed on
 * unchanged.
 */
export class BoundedPool extends CallbackPool implements StatementRunner {
  private readonly observability: Observability;
  private readonly replyTimeout: number;
  private readonly servers: DatabaseServers;
  /** All clients, also those that still connect. */
  private readonly clients = new Set<PoolClient>();
  /** Connections with a session. */
  private readonly connections = new Set<PoolClient>();

  /** Whether the database has the extension Citus. */
  hasCitus = false;

  /** During the start, errors are passed on unchanged, because the start itself waits for the database. */
  private isServing = false;

  /** A wait for a connection has timed out, and no statement has succeeded since. */
  private isExhausted = false;

  /** By operation, such as INSERT, that the database refuses, for example because of a full disk. */
  private readonly refusals = new Map<string, { last: number; count: number }>();

  /** The newest of a server that was reached. */
  private timeline: Timeline | undefined;

  /** Servers with an older timeline that were reported. */
  private readonly replaced = new Set<string>();

  private readonly outage = new Outage({
    probe: (signal) => this.probe(signal),
    began: (reason) => {
      const { logger } = this.observability;
      logger.error({ reason: describeFailure(reason) }, 'the database is unavailable');
      // Otherwise each dead connection would be found by a request that waits for it.
      for (const client of this.clients) client.abandon();
    },
    ended: () => {
      this.observability.logger.info('the database is available again');
      // Connections that hang would occupy the pool until their timeout.
      for (const client of this.clients) if (!this.connections.has(client)) client.abandon();
    },
  });

  constructor({ observability, connectionString, ...options }: BoundedPoolOptions) {
    const servers = databaseServers(connectionString);
    super({
      ...options,
      connectionString: servers.urls[0],
      Client: PoolClient,
      onCreate: (client: PoolClient) => {
        this.clients.add(client);
        client.once('end', () => this.clients.delete(client));
      },
      onConnect: (client: PoolClient) => this.adopt(client),
    });
    this.servers = servers;
    this.replyTimeout = options.replyTimeout;
    this.observability = observability;
  }

  /** The URL of the host that was last found to be the primary, at first the first host. */
  get url(): string {
    return this.options.connectionString!;
  }

  /** Turns failures into PlantStoreErrors from now on, and watches outages. */
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

  /** Whether the address has led to a standby for longer than a failover takes. */
  get isOnStandby(): boolean {
    return this.outage.isKnownFor(FAILOVER) && isOnlyStandby(this.outage.reason);
  }

  /** Checks a connection out of the pool. The caller must release it. */
  lend(): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      this.connect((failure, client) => {
        if (client === undefined) reject(failure);
        else resolve(client);
      });
    });
  }

  /** A connection to the primary that does not count towards the pool. The caller must close it. */
  async connectApart(applicationName: string): Promise<PoolClient> {
    const { options, replyTimeout } = this;
    const client = new PoolClient({ ...options, replyTimeout, application_name: applicationName });
    try {
      await withTimeout(client, async () => {
        await client.connect();
        await client.adoptSession(this.servers.mustWrite);
        await this.requireNewest(client);
      });
      return client;
    } catch (error) {
      client.abandon();
      throw error;
    }
  }

  override connect(callback: OnConnection): void {
    const refusal = this.refusal();
    if (refusal !== undefined) {
      callback(refusal, undefined, () => {});
      return;
    }
    // Later, outages are what makes the pool look for the primary.
    if (!this.isServing && this.connections.size === 0 && this.servers.urls.length > 1) {
      callbackify(() => this.probe(new AbortController().signal))((failure) => {
        if (failure) callback(failure, undefined, () => {});
        else this.checkOut(callback);
      });
      return;
    }
    this.checkOut(callback);
  }

  private checkOut(callback: OnConnection): void {
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
      const operation = operationOf(text);
      try {
        const result = await send();
        this.isExhausted = false;
        this.noteSuccess(operation);
        return result;
      } catch (error) {
        throw this.statementFailure(client, operation, error);
      }
    });
  }

  /** Finds out whether the server is silent or only the statement is slow, so that both can be told when it times out. */
  onSilence(): void {
    if (this.isServing) this.outage.suspect(new ReplyTimeoutError(this.replyTimeout), false);
  }

  private async adopt(client: PoolClient): Promise<void> {
    // The pool's own timeout covers only connecting, not the first query.
    await withTimeout(client, async () => {
      await client.adoptSession(this.servers.mustWrite, this);
      await this.requireNewest(client);
    });
    this.hasCitus = client.hasCitus;
    this.connections.add(client);
    client.once('end', () => this.connections.delete(client));
    this.noteSuccess('new connections');
  }

  /**
   * A primary that was replaced, but not shut down, still takes connections and writes. Of several hosts, only the server
   * with the newest timeline is used.
   *
   * @returns the number of the timeline; 0 if it is not known
   * @throws OutdatedPrimaryError
   */
  private async requireNewest(client: PoolClient): Promise<number> {
    if (this.servers.urls.length === 1) return 0;
    const timeline = await client.timeline();
    if (timeline === undefined) return 0;
    const { number } = timeline;
    const newest = timeline.system === this.timeline?.system ? this.timeline.number : 0;
    if (number < newest) {
      const error = new OutdatedPrimaryError(number, newest);
      this.reportReplaced(client, error);
      throw error;
    }
    this.timeline = timeline;
    return number;
  }

  /** Whoever writes to this server by another way loses what is written. */
  private reportReplaced({ host, port }: PoolClient, { message: reason }: Error): void {
    const server = `${host}:${port}`;
    if (this.replaced.has(server)) return;
    this.replaced.add(server);
    this.observability.logger.error({ server, reason }, 'a replaced primary is still running');
  }

  /** The failure of a request that would only wait for a timeout. */
  private refusal(): PlantStoreError | undefined {
    if (this.outage.isKnown) return new PlantStoreError('database-unavailable');
    const { used, max, pending } = this.use;
    return pending >= MAX_WAITING || (this.isExhausted && used >= max)
      ? new PlantStoreError('pool-exhausted')
      : undefined;
  }

  private connectionFailure(failure: Error, start: Moment): Error {
    if (!this.isServing) return failure;
    if (failure.message === POOL_TIMEOUT) {
      this.isExhausted = true;
      return new PlantStoreError('pool-exhausted');
    }
    // If other connections work, a refused connection is not an outage.
    this.note('new connections', failure, isTimedOut(start));
    return new PlantStoreError('database-unavailable');
  }

  private statementFailure(client: PoolClient, operation: string, error: unknown): unknown {
    if (!this.isServing || !isOutage(error)) return error;
    // A new connection may lead to the new primary. This connection would stay with the standby.
    if (isReadOnly(error)) void client.end();
    if (!isTimeout(error)) this.note(operation, error, false);
    return error instanceof DatabaseError
      ? new RefusedStatementError(error.code)
      : new PlantStoreError('database-unavailable');
  }

  /** @param isKnown whether the failure is an outage for sure */
  private note(operation: string, failure: Error, isKnown: boolean): void {
    const isGone = isDisconnection(failure) || this.connections.size === 0;
    if (!isGone) this.noteRefusal(operation, failure);
    // Another host can be the primary now.
    const hasMoved = isReadOnly(failure) && this.servers.urls.length > 1;
    if (isGone || hasMoved) this.outage.suspect(failure, isKnown);
  }

  private noteRefusal(operation: string, error: unknown): void {
    const { count } = this.refusals.get(operation) ?? { count: 0 };
    if (count === 0) {
      const reason = describeFailure(error);
      this.observability.logger.error({ reason }, `the database refuses ${operation}`);
    }
    this.refusals.set(operation, { last: performance.now(), count: count + 1 });
  }

  private noteSuccess(operation: string): void {
    const refusal = this.refusals.get(operation);
    if (refusal === undefined || performance.now() - refusal.last < RECOVERY) return;
    this.refusals.delete(operation);
    this.observability.logger.info(
      { refused: refusal.count },
      `the database accepts ${operation} again`,
    );
  }

  /** Looks for the primary, first at its last host. New connections will lead there. */
  private async probe(signal: AbortSignal): Promise<void> {
    const hosts = new Set([this.url, ...this.servers.urls]);
    const url = await findPrimary([...hosts], (host, end) => this.tryHost(host, end), signal);
    if (url === this.url || signal.aborted) return;
    this.options.connectionString = url;
    for (const client of this.clients) client.abandon();
    if (this.isServing) {
      this.observability.logger.info({ server: hostOf(url) }, 'another host is the primary now');
    }
  }

  /** Tries a new connection, because connections of the pool may be broken without notice. */
  private async tryHost(connectionString: string, signal: AbortSignal): Promise<number> {
    const { options, replyTimeout } = this;
    const client = new PoolClient({
      ...options,
      replyTimeout,
      connectionString,
      onCreate: () => {},
    });
    const abandon = (): void => client.abandon();
    signal.addEventListener('abort', abandon, { once: true });
    try {
      return await withTimeout(client, async () => {
        await client.connect();
        await client.adoptSession(this.servers.mustWrite);
        return this.requireNewest(client);
      });
    } finally {
      signal.removeEventListener('abort', abandon);
      abandon();
    }
  }
}

/** Abandons a connection that is not ready in time. */
async function withTimeout<Result>(
  client: PoolClient,
  connecting: () => Promise<Result>,
): Promise<Result> {
  // `setImmediate` first reads an answer that has already arrived.
  let giveUp: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    giveUp = setImmediate(() => client.abandon());
  }, DATABASE_LIMITS.connection);
  try {
    return await connecting();
  } finally {
    clearTimeout(timer);
    clearImmediate(giveUp);
  }
}

interface Moment {
  readonly time: number;
  readonly loop: EventLoopUtilization;
}

function now(): Moment {
  return { time: performance.now(), loop: performance.eventLoopUtilization() };
}

/**
 * Whether a wait since then has timed out. A busy process notices the timeout before it reads an answer that has long
 * arrived. So the timeout counts only if the event loop was idle for at least half of the time.
 */
function isTimedOut(start: Moment): boolean {
  const { idle } = performance.eventLoopUtilization(start.loop);
  const waited = performance.now() - start.time;
  return waited >= DATABASE_LIMITS.connection && idle >= waited / 2;
}

/** TypeORM's pool, or `undefined` before the first connection. */
export function poolOf({ driver }: DataSource): BoundedPool | undefined {
  return (driver as unknown as { readonly master?: BoundedPool }).master;
}
