import { performance } from 'node:perf_hooks';
import type { EventLoopUtilization } from 'node:perf_hooks';
import { callbackify } from 'node:util';
import { DatabaseError } from 'pg';
import type { Pool, PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';
import type { Secret } from '../../config/secret-file.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { describeFailure } from '../../observability/describe-failure.js';
import { operationOf } from '../../observability/tracer.js';
import type { Observability } from '../../observability/observability.module.js';
import {
  isDisconnection,
  isEndedByServer,
  isLoginRefused,
  isOnlyStandby,
  isOutage,
  isReadOnly,
  isTurnedAway,
  RefusedStatementError,
} from '../database-failure.js';
import type { DatabaseLimits } from '../limits.js';
import { CallbackPool } from './callback-pool.js';
import type { OnConnection } from './callback-pool.js';
import { Ceiling } from './ceiling.js';
import { hostOf } from './find-primary.js';
import { Logins } from './logins.js';
import { isTimedOut, CircuitBreaker } from './circuit-breaker.js';
import { PoolClient } from './pool-client.js';
import type { PoolClientConfig, StatementRunner } from './pool-client.js';
import { RefusedOperations } from './refused-operations.js';
import { withTimeout } from './servers.js';

/** Most requests that may wait for a connection. */
export const MAX_WAITING = 1_000;

/** Message of pg-pool's timeout error, which has no code. */
const POOL_TIMEOUT = 'timeout exceeded when trying to connect';

/** A failover is over after this time, in milliseconds. Patroni detects a lost leader after its `ttl`, 30 s by default. */
const FAILOVER = 60_000;

/** The operation that fails when the server refuses a connection. */
const NEW_CONNECTIONS = 'new connections';

export type BoundedPoolOptions = PoolConfig & {
  /** With one host or several. */
  readonly url: Secret<string>;
  readonly limits: DatabaseLimits;
  readonly observability: Observability;
};

/**
 * A pool with connections to a primary only. If the URL has several hosts, all connections lead to the host that was
 * last found to be the primary; when it fails, the pool looks for the primary again. A request for a connection waits
 * until a timeout, and fails at once during an outage or after other requests have timed out. Failures are
 * {@link ServiceException}s: `pool-exhausted` if all connections are in use, `database-too-slow`, `row-locked` and
 * `transaction-conflict` if the server ended the statement, otherwise `database-unavailable`. Errors that the statement
 * itself has caused are passed on unchanged.
 */
export class BoundedPool extends CallbackPool implements StatementRunner {
  declare readonly options: Pool['options'] & PoolClientConfig;
  private readonly observability: Observability;
  private readonly logins: Logins;
  private readonly refused: RefusedOperations;
  private readonly ceiling: Ceiling;
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

  private readonly breaker = new CircuitBreaker({
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

  constructor({ observability, url, ...options }: BoundedPoolOptions) {
    super({
      ...options,
      Client: PoolClient,
      onCreate: (client: PoolClient) => {
        this.clients.add(client);
        client.once('end', () => this.clients.delete(client));
      },
      onConnect: (client: PoolClient) => this.adopt(client),
    });
    this.observability = observability;
    this.logins = new Logins(url, this.options, observability.logger);
    this.refused = new RefusedOperations(observability.logger);
    this.ceiling = new Ceiling(this.options);
  }

  /** The URL of the host that was last found to be the primary, at first the first host. */
  get url(): string {
    return this.options.connectionString!;
  }

  /** Turns failures into ServiceExceptions from now on, watches outages, and follows the file of the URL. */
  startServing(): void {
    this.isServing = true;
    this.logins.follow();
  }

  get use() {
    const { totalCount, idleCount: idle, waitingCount: pending, options } = this;
    return { used: totalCount - idle, idle, pending, max: options.max };
  }

  /** Whether the address has led to a standby for longer than a failover takes. */
  get isOnStandby(): boolean {
    return this.breaker.isOpenFor(FAILOVER) && isOnlyStandby(this.breaker.reason);
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

  /**
   * A connection to the primary that does not count towards the pool. The caller must close it.
   *
   * @param purpose the end of its application name
   */
  async connectApart(purpose: string, isRetry = false): Promise<PoolClient> {
    const { application_name: name } = this.options;
    const client = new PoolClient({ ...this.options, application_name: `${name} ${purpose}` });
    try {
      await this.logins.servers.connect(client);
      return client;
    } catch (error) {
      client.abandon();
      if (isRetry || !isLoginRefused(error) || !(await this.logins.recover())) throw error;
      return this.connectApart(purpose, true);
    }
  }

  override connect(callback: OnConnection): void {
    const immediate = this.immediateFailure();
    if (immediate !== undefined) {
      callback(immediate, undefined, () => {});
      return;
    }
    // Later, outages are what makes the pool look for the primary.
    if (!this.isServing && this.connections.size === 0 && this.logins.servers.areSeveral) {
      callbackify(() => this.probe(new AbortController().signal))((failure) => {
        if (failure) callback(failure, undefined, () => {});
        else this.checkOut(callback);
      });
      return;
    }
    this.checkOut(callback);
  }

  private checkOut(callback: OnConnection, since = performance.now(), isRetry = false): void {
    const start = performance.eventLoopUtilization();
    const again = (): void => this.checkOut(callback, since, true);
    super.connect((failure, client, release) => {
      const fail = (error: Error): void => {
        if (this.canWait(error, since)) again();
        else callback(this.connectionFailure(error, start), client, release);
      };
      if (failure === undefined) {
        if (!this.ceiling.isLowered) this.refused.noteSuccess(NEW_CONNECTIONS);
        callback(failure, client, release);
      } else if (isRetry || !isLoginRefused(failure)) {
        fail(failure);
      } else {
        callbackify(() => this.logins.recover())((_, isAccepted) => {
          if (isAccepted) again();
          else fail(failure);
        });
      }
    });
  }

  /** Whether the server refuses another connection, and goes on with those that exist. */
  private canWait(failure: Error, since: number): boolean {
    const { size } = this.connections;
    const isOver = performance.now() - since > this.options.limits.connection;
    if (!(failure instanceof DatabaseError) || size === 0 || isOver) return false;
    this.ceiling.noteLimit(size);
    if (this.isServing) this.refused.noteFailure(NEW_CONNECTIONS, failure);
    return true;
  }

  override end(callback: () => void): void {
    this.breaker.close();
    this.logins.close();
    this.ceiling.close();
    super.end(callback);
  }

  run<T>(client: PoolClient, text: string, send: () => Promise<T>): Promise<T> {
    return this.observability.tracer.statement(text, async () => {
      const operation = operationOf(text);
      try {
        const result = await send();
        this.isExhausted = false;
        this.refused.noteSuccess(operation);
        return result;
      } catch (error) {
        throw this.isServing ? this.statementFailure(client, operation, error) : error;
      }
    });
  }

  /** Finds out whether the server is silent or only the statement is slow, so that both can be told when it times out. */
  onSilence(failure: Error): void {
    if (this.isServing) this.breaker.suspect(failure, false);
  }

  private async adopt(client: PoolClient): Promise<void> {
    await withTimeout(client, () => this.logins.servers.adopt(client, this));
    this.hasCitus = client.hasCitus;
    this.connections.add(client);
    client.once('end', () => this.connections.delete(client));
    this.ceiling.noteConnection(this.connections.size);
  }

  /** The failure of a request that would only wait for a timeout. */
  private immediateFailure(): ServiceException | undefined {
    if (this.breaker.isOpen) return new ServiceException(ERRORS.databaseUnavailable);
    const { used, max, pending } = this.use;
    return pending >= MAX_WAITING || (this.isExhausted && used >= max)
      ? new ServiceException(ERRORS.poolExhausted)
      : undefined;
  }

  private connectionFailure(failure: Error, start: EventLoopUtilization): Error {
    if (!this.isServing) return failure;
    if (failure.message === POOL_TIMEOUT) {
      this.isExhausted = true;
      return new ServiceException(ERRORS.poolExhausted);
    }
    this.noteOutage(NEW_CONNECTIONS, failure, isTimedOut(start, this.options.limits.connection));
    return new ServiceException(ERRORS.databaseUnavailable);
  }

  /** @returns what the request fails with: the error itself if the statement has caused it */
  private statementFailure(client: PoolClient, operation: string, error: unknown): unknown {
    if (!isOutage(error)) return error;
    if (isReadOnly(error)) client.replace();
    if (!isEndedByServer(error)) this.noteOutage(operation, error);
    return error instanceof DatabaseError
      ? new RefusedStatementError(error.code)
      : new ServiceException(ERRORS.databaseUnavailable);
  }

  /** @param isTimeout whether the database is unavailable for sure */
  private noteOutage(operation: string, failure: Error, isTimeout = false): void {
    // If other connections work, a refused connection is not an outage.
    const isGone = isDisconnection(failure) || this.connections.size === 0;
    if (!isGone) this.refused.noteFailure(operation, failure);
    // Another host can be the primary now.
    const hasMoved = isReadOnly(failure) && this.logins.servers.areSeveral;
    if (isGone || hasMoved) this.breaker.suspect(failure, isTimeout);
  }

  /** Looks for the primary. New connections will lead there. */
  private async probe(signal: AbortSignal): Promise<void> {
    const hasMoved = await this.logins.findPrimary(signal).catch((error: unknown) => {
      // The server answers, and goes on with the connections that it has.
      if (this.connections.size > 0 && isTurnedAway(error)) return false;
      throw error;
    });
    if (!hasMoved) return;
    for (const client of this.clients) client.abandon();
    if (this.isServing) {
      const server = hostOf(this.url);
      this.observability.logger.info({ server }, 'another host is the primary now');
    }
  }
}

/** TypeORM's pool, or `undefined` before the first connection. */
export function poolOf({ driver }: DataSource): BoundedPool | undefined {
  return (driver as unknown as { readonly master?: BoundedPool }).master;
}
