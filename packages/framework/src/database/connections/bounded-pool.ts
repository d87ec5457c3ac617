import { performance } from 'node:perf_hooks';
import type { EventLoopUtilization } from 'node:perf_hooks';
import { callbackify } from 'node:util';
import { DatabaseError } from 'pg';
import type { Pool, PoolConfig } from 'pg';
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import type { Secret } from '../../config/secret-file.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { describeError } from '../../observability/describe-error.js';
import { operationOf } from '../../observability/tracer.js';
import type { Tracer } from '../../observability/tracer.js';
import {
  isDisconnection,
  isEndedByServer,
  isLoginRejected,
  isOnlyStandby,
  isOutage,
  isReadOnly,
  isConnectionRejected,
  RejectedStatementError,
} from '../database-error.js';
import type { DatabaseLimits } from '../limits.js';
import { transactionDepth } from '../lock-waits/inside-transaction.js';
import { CallbackPool } from './callback-api.js';
import type { OnConnection } from './callback-api.js';
import { ConnectionLimit } from './connection-limit.js';
import { hostOf } from './find-primary.js';
import { ConnectionTarget } from './connection-target.js';
import { isTimedOut, CircuitBreaker } from './circuit-breaker.js';
import { PoolClient } from './pool-client.js';
import type { PoolClientConfig, StatementRunner } from './pool-client.js';
import { RejectedOperations } from './rejected-operations.js';
import { withTimeout } from './cluster.js';

export const MAX_WAITING = 1_000;

/** The message of pg-pool's timeout error, which has no code. */
const POOL_TIMEOUT = 'timeout exceeded when trying to connect';

/** The longest failover, in milliseconds: Patroni detects a lost leader after its `ttl`, 30 s by default. */
const FAILOVER = 60_000;

const HELD =
  'transactions hold all connections of the pool, and wait for another one: pass the manager that `Transactions.run()` gives to `work`';

const NEW_CONNECTIONS = 'new connections';

type OnClient = OnConnection<PoolClient>;

type BoundedPoolOptions = PoolConfig & {
  /** With one host or several. */
  readonly url: Secret<string>;
  readonly limits: DatabaseLimits;
  readonly logger: Logger;
  readonly tracer: Tracer;
};

/**
 * A pool with connections to a primary only: with several hosts, to the one that was last found to be it. A request
 * for a connection waits until a timeout, and fails at once during an outage or after other requests have timed out.
 * Errors are {@link ServiceException}s, except for those that the statement itself has caused.
 */
export class BoundedPool extends CallbackPool<PoolClient> implements StatementRunner {
  declare readonly options: Pool['options'] & PoolClientConfig;
  private readonly logger: Logger;
  private readonly tracer: Tracer;
  private readonly target: ConnectionTarget;
  private readonly rejected: RejectedOperations;
  private readonly connectionLimit: ConnectionLimit;
  /** Also those that still connect. */
  private readonly clients = new Set<PoolClient>();
  /** Connections with a session. */
  private readonly connections = new Set<PoolClient>();

  hasCitus = false;

  /** During the start, which itself waits for the database, errors are passed on unchanged. */
  private isServing = false;

  /** A wait for a connection has timed out, and no statement has succeeded since. */
  private isExhausted = false;

  private readonly breaker = new CircuitBreaker({
    probe: (signal) => this.probe(signal),
    opened: (reason) => {
      this.logger.error({ reason: describeError(reason) }, 'the database is unavailable');
      // Otherwise each dead connection would cost a request that waits for it.
      for (const client of this.clients) client.abandon();
    },
    closed: () => {
      this.logger.info('the database is available again');
      // Connections that hang would occupy the pool until their timeout.
      for (const client of this.clients) if (!this.connections.has(client)) client.abandon();
    },
  });

  constructor({ logger, tracer, url, ...options }: BoundedPoolOptions) {
    super({
      ...options,
      Client: PoolClient,
      onCreate: (client: PoolClient) => {
        this.clients.add(client);
        client.once('end', () => {
          this.clients.delete(client);
          this.connections.delete(client);
        });
      },
      onConnect: (client: PoolClient) => this.adopt(client),
    });
    this.logger = logger;
    this.tracer = tracer;
    this.target = new ConnectionTarget(url, this.options, logger);
    this.rejected = new RejectedOperations(logger);
    this.connectionLimit = new ConnectionLimit(this.options);
  }

  /** Of the host that was last found to be the primary, at first the first host. */
  get url(): string {
    return this.options.connectionString!;
  }

  /** From now on, errors become ServiceExceptions, outages are watched, and the file of the URL is followed. */
  startServing(): void {
    this.isServing = true;
    this.target.follow();
  }

  get use() {
    const { totalCount, idleCount: idle, waitingCount: pending, options } = this;
    return { used: totalCount - idle, idle, pending, max: options.max };
  }

  /** Whether the address has led to a standby for longer than a failover takes. */
  get isOnStandby(): boolean {
    return this.breaker.isOpenFor(FAILOVER) && isOnlyStandby(this.breaker.reason);
  }

  lend(): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      this.connect((error, client) => (client === undefined ? reject(error) : resolve(client)));
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
      await this.target.cluster.connect(client);
      return client;
    } catch (error) {
      client.abandon();
      if (isRetry || !isLoginRejected(error) || !(await this.target.recover())) throw error;
      return this.connectApart(purpose, true);
    }
  }

  override connect(callback: OnClient): void {
    const immediate = this.immediateError();
    if (immediate !== undefined) return callback(immediate, undefined, () => {});
    // Later, only outages make the pool look for the primary.
    const isFirst = !this.isServing && this.connections.size === 0;
    if (!isFirst || !this.target.cluster.hasSeveralHosts) return this.checkOut(callback);
    callbackify(() => this.probe(new AbortController().signal))((error) => {
      if (error) callback(error, undefined, () => {});
      else this.checkOut(callback);
    });
  }

  private checkOut(callback: OnClient, since = performance.now(), isRetry = false): void {
    const start = performance.eventLoopUtilization();
    const again = (): void => this.checkOut(callback, since, true);
    super.connect((error, client, release) => {
      const fail = (cause: Error): void => {
        if (this.canWait(cause, since)) again();
        else callback(this.connectionError(cause, start), client, release);
      };
      if (error === undefined) {
        if (!this.connectionLimit.isLowered) this.rejected.noteSuccess(NEW_CONNECTIONS);
        callback(error, client, release);
      } else if (isRetry || !isLoginRejected(error)) {
        fail(error);
      } else {
        callbackify(() => this.target.recover())((_, isAccepted) => {
          if (isAccepted) again();
          else fail(error);
        });
      }
    });
  }

  /** Whether the server rejects another connection, and goes on with the existing ones. */
  private canWait(error: Error, since: number): boolean {
    const { size } = this.connections;
    const isOver = performance.now() - since > this.options.limits.connection;
    if (!(error instanceof DatabaseError) || size === 0 || isOver) return false;
    this.connectionLimit.noteLimit(size);
    if (this.isServing) this.rejected.noteError(NEW_CONNECTIONS, error);
    return true;
  }

  override end(callback: () => void): void {
    this.breaker.stop();
    this.target.close();
    this.connectionLimit.close();
    super.end(callback);
  }

  run<T>(client: PoolClient, text: string, send: () => Promise<T>): Promise<T> {
    return this.tracer.statement(text, async () => {
      const start = performance.now();
      try {
        const result = await send();
        this.isExhausted = false;
        if (this.rejected.hasAny) this.rejected.noteSuccess(operationOf(text));
        return result;
      } catch (error) {
        if (!this.isServing) throw error;
        throw this.errorOf(client, operationOf(text), performance.now() - start, error);
      }
    });
  }

  /** Finds out whether the server is silent or only the statement is slow. */
  onSilence(error: Error): void {
    if (this.isServing) this.breaker.suspect(error, false);
  }

  private async adopt(client: PoolClient): Promise<void> {
    await withTimeout(client, () => this.target.cluster.adopt(client, this));
    this.hasCitus = client.hasCitus;
    this.connections.add(client);
    this.connectionLimit.noteConnection(this.connections.size);
  }

  /** Of a request that would only wait for a timeout. */
  private immediateError(): Error | undefined {
    if (this.breaker.isOpen) return new ServiceException(ERRORS.databaseUnavailable);
    const { used, max, pending } = this.use;
    if (transactionDepth() >= max) return new TypeError(HELD);
    return pending >= MAX_WAITING || (this.isExhausted && used >= max)
      ? new ServiceException(ERRORS.poolExhausted)
      : undefined;
  }

  private connectionError(error: Error, start: EventLoopUtilization): Error {
    if (!this.isServing) return error;
    if (error.message === POOL_TIMEOUT) {
      this.isExhausted = true;
      return new ServiceException(ERRORS.poolExhausted);
    }
    this.noteOutage(NEW_CONNECTIONS, error, isTimedOut(start, this.options.limits.connection));
    return new ServiceException(ERRORS.databaseUnavailable);
  }

  /** @returns the error of the request: the given one if the statement has caused it */
  private errorOf(client: PoolClient, operation: string, took: number, error: unknown): unknown {
    if (!isOutage(error)) return error;
    if (isReadOnly(error)) client.replace();
    if (!isEndedByServer(error)) this.noteOutage(operation, error);
    return error instanceof DatabaseError
      ? new RejectedStatementError(error.code, took)
      : new ServiceException(ERRORS.databaseUnavailable);
  }

  /** @param isTimeout whether the database is unavailable for sure */
  private noteOutage(operation: string, error: Error, isTimeout = false): void {
    // If other connections work, a rejected connection is not an outage.
    const isGone = isDisconnection(error) || this.connections.size === 0;
    if (!isGone) this.rejected.noteError(operation, error);
    // Another host can be the primary now.
    const hasMoved = isReadOnly(error) && this.target.cluster.hasSeveralHosts;
    if (isGone || hasMoved) this.breaker.suspect(error, isTimeout);
  }

  /** Looks for the primary. New connections will lead there. */
  private async probe(signal: AbortSignal): Promise<void> {
    const hasMoved = await this.target.findPrimary(signal).catch((error: unknown) => {
      // The server responds, and goes on with its connections.
      if (this.connections.size > 0 && isConnectionRejected(error)) return false;
      throw error;
    });
    if (!hasMoved) return;
    for (const client of this.clients) client.abandon();
    const server = hostOf(this.url);
    if (this.isServing) this.logger.info({ server }, 'another host is the primary now');
  }
}

/** TypeORM's pool, or `undefined` before the first connection. */
export function poolOf({ driver }: DataSource): BoundedPool | undefined {
  return (driver as unknown as { readonly master?: BoundedPool }).master;
}
