import { DatabaseError } from 'pg';
import type { ClientConfig, QueryArrayConfig, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import {
  isLockTimeout,
  ReadOnlyError,
  RolledBackError,
  RowLockedError,
  StandbyError,
} from '../database-error.js';
import type { DatabaseLimits } from '../limits.js';
import { CallbackClient, CallbackQuery } from './callback-api.js';
import { canLimitLockWait, limiting, setsLockWait } from './lock-wait.js';
import type { LockWait } from './lock-wait.js';
import { pathFor } from './search-path.js';
import { BEGIN_OWN, beginFirst, beginShared, setUpSession } from './session-settings.js';
import { TIMELINE } from './timelines.js';
import type { Timeline } from './timelines.js';
import { VALUE_TYPES } from './value-types.js';

export interface StatementRunner {
  run<T>(client: PoolClient, text: string, send: () => Promise<T>): Promise<T>;

  /** The reply to a statement is late. The connection will be closed after the time of another connection attempt. */
  onSilence(error: Error): void;
}

export interface PoolClientConfig extends ClientConfig {
  readonly limits: DatabaseLimits;
  readonly schema?: string | undefined;
  /** The tables that must be in the first schema of the search path. */
  readonly tables?: readonly string[];
  readonly onCreate?: (client: PoolClient) => void;
}

/** Milliseconds for which a read-only connection is kept: reads use it, and each new connection costs a login. */
const MIN_AGE = 500;

/** Milliseconds until a statement may be prepared again once more. */
const KEEP_PREPARED = 10_000;

const NO_RESULT = { command: 'BEGIN', rowCount: null, oid: 0, fields: [], rows: [] };

export class PoolClient extends CallbackClient {
  /** Set by the pool at each checkout. */
  declare readonly release: (error?: Error) => void;

  hasCitus = false;

  private readonly createdAt = performance.now();
  readonly limits: DatabaseLimits;
  private readonly path: string;
  private runner: StatementRunner | undefined;
  private isPooled = true;
  private beginShared: string;
  private inTransaction = false;
  /** Of the last transaction that has set it, and no other limit since. */
  private lockWait: LockWait | undefined;
  private nextLockWait: LockWait | undefined;
  /** By the name of a prepared statement, as of `performance.now()`. */
  private readonly keptUntil = new Map<string, number>();

  constructor(config: PoolClientConfig) {
    // A transaction for a pooler is sent at once.
    super({ ...config, pipeline: true, types: VALUE_TYPES });
    this.limits = config.limits;
    this.beginShared = beginShared(this.limits);
    this.path = pathFor(config);
    // Between the checkout and the first statement, nobody listens, and an error would end the process. The next
    // statement fails anyway, and the pool drops the connection when it is released.
    this.on('error', () => {});
    config.onCreate?.(this);
  }

  /**
   * Detects a pooler such as PgBouncer: PostgreSQL sends its process id at the start of a session (manual, chapter
   * 54.2.1), a pooler sends a different number.
   *
   * Without a pooler, the settings are set once, and statements may be prepared. The server stays a primary as long as
   * the session lasts (manual, chapter 26.4). Behind a pooler, sessions are shared and must stay unchanged: each
   * statement is sent in a transaction that sets the settings and checks that the server is a primary.
   *
   * @param mustWrite whether to reject a server whose sessions are read-only
   * @throws StandbyError, ReadOnlyError
   */
  async adoptSession(mustWrite: boolean, runner?: StatementRunner): Promise<void> {
    const { processID } = this as unknown as { readonly processID: number | null };
    type Session = Record<'own' | 'writable' | 'citus', boolean> & { readonly added: string };
    const statement = { text: setUpSession(this.path, this.limits), values: [processID] };
    const [session] = (await this.transact<Session>(beginFirst(this.limits), statement)).rows;
    if (mustWrite && session?.writable !== true) throw new ReadOnlyError();
    this.isPooled = session?.own !== true;
    this.beginShared += session?.added ?? '';
    this.hasCitus = session?.citus === true;
    this.runner = runner;
  }

  /** `undefined` if the server does not tell, like some that are not PostgreSQL. */
  async timeline(): Promise<Timeline | undefined> {
    try {
      const result = await this.send<{ system: string; timeline: string }>({ text: TIMELINE });
      const [row] = result.rows;
      return row && { system: row.system, number: Number.parseInt(row.timeline, 16) };
    } catch (error) {
      if (error instanceof DatabaseError) return undefined;
      throw error;
    }
  }

  override query<Row extends QueryResultRow>(
    statement: string | QueryConfig | QueryArrayConfig,
    values?: unknown[],
  ): Promise<QueryResult<Row>> {
    // With no values (`[]`), the driver uses the simple protocol.
    const config =
      typeof statement === 'string' ? { text: statement, values: values ?? [] } : statement;
    if (this.lockWait !== undefined && setsLockWait(config.text)) this.lockWait = undefined;
    const limit = this.nextLockWait;
    this.nextLockWait = undefined;
    const send = () => {
      if (limit !== undefined && canLimitLockWait(config.text)) {
        return this.queryLimited<Row>(config, limit);
      }
      return this.isPooled ? this.queryPooled<Row>(config) : this.send<Row>(config);
    };
    return this.runner === undefined ? send() : this.runner.run(this, config.text, send);
  }

  /**
   * Limits each wait of the transaction for a lock. Sent together with its first statement, which fails if this
   * fails.
   *
   * @param milliseconds until the transaction sets another limit
   */
  limitLockWait(milliseconds: number): LockWait {
    this.query(limiting(milliseconds)).catch(() => {});
    this.lockWait = { milliseconds, isOver: false };
    return this.lockWait;
  }

  /**
   * Limits the lock waits of a single statement outside of a transaction, unless it seems to need no row or sets a
   * limit itself.
   *
   * @throws RowLockedError if it has waited for so many milliseconds
   */
  async limitingLockWait<Result>(
    milliseconds: number,
    run: () => Promise<Result>,
  ): Promise<Result> {
    const limit = { milliseconds, isOver: false };
    this.nextLockWait = limit;
    try {
      return await run();
    } catch (error) {
      throw limit.isOver ? new RowLockedError() : error;
    } finally {
      this.nextLockWait = undefined;
    }
  }

  /** Makes the pool drop a connection that cannot write: a new one may lead to the new primary. */
  replace(): void {
    if (performance.now() - this.createdAt > MIN_AGE) void this.end().catch(() => {});
  }

  hasPrepared(name: string): boolean {
    return this.prepared[name] !== undefined;
  }

  /** Its next use prepares it again. Does nothing if that happened shortly before. */
  async forget(name: string): Promise<void> {
    const now = performance.now();
    if (!this.hasPrepared(name) || now < (this.keptUntil.get(name) ?? 0)) return;
    this.keptUntil.set(name, now + KEEP_PREPARED);
    await this.query(`DEALLOCATE "${name}"`);
    delete this.prepared[name];
  }

  private get prepared(): Record<string, string | undefined> {
    const { parsedStatements } = this.connection as unknown as {
      readonly parsedStatements: Record<string, string | undefined>;
    };
    return parsedStatements;
  }

  /** Fails running statements, and makes the pool drop the connection. */
  abandon(reason?: Error): void {
    this.connection.stream.destroy(reason);
  }

  /**
   * Sends a statement with a callback, and with a timeout instead of `query_timeout`. For a promise and for its
   * timeout, node-postgres assigns a function to a property of the query. V8 allocates it among the old objects,
   * where it keeps the rows alive until the next major garbage collection.
   */
  private async send<Row extends QueryResultRow>(
    statement: QueryConfig,
  ): Promise<QueryResult<Row>> {
    const { connection, reply } = this.limits;
    const probe = Math.min(connection, reply / 3);
    let timer = setTimeout(() => {
      const error = new Error(`no reply within ${reply} ms`);
      this.runner?.onSilence(error);
      // The next user of the connection would wait behind this statement.
      timer = setTimeout(() => this.abandon(error), probe);
    }, reply - probe);
    try {
      const result = await new Promise<QueryResult<Row>>((resolve, reject) => {
        super.query(
          new CallbackQuery<Row>(statement, (error, success) => {
            if (error) reject(error);
            else resolve(success);
          }),
        );
      });
      if (result.command === 'ROLLBACK' && statement.text === 'COMMIT') throw new RolledBackError();
      return result;
    } catch (error) {
      if (this.lockWait !== undefined && isLockTimeout(error)) this.lockWait.isOver = true;
      // The stack of the caller, instead of the one that reads the socket.
      Error.captureStackTrace(error as Error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** In TypeORM's transaction, or in a separate one in a single round trip. */
  private async queryPooled<Row extends QueryResultRow>({
    name: _name,
    ...unnamed
  }: QueryConfig): Promise<QueryResult<Row>> {
    const { text } = unnamed;
    if (text === 'START TRANSACTION') {
      // After a failed begin, TypeORM returns the connection to the pool, with a transaction in an unknown state.
      await this.begin().catch((error: unknown) => {
        this.abandon();
        throw error;
      });
      this.inTransaction = true;
      return NO_RESULT;
    }
    if (this.inTransaction) {
      if (text === 'COMMIT' || text === 'ROLLBACK') this.inTransaction = false;
      return this.send<Row>(unnamed);
    }
    return this.transact<Row>(this.beginShared, unnamed);
  }

  private async queryLimited<Row extends QueryResultRow>(
    config: QueryConfig,
    limit: LockWait,
  ): Promise<QueryResult<Row>> {
    const { name: _name, ...unnamed } = config;
    const [begin, statement] = this.isPooled ? [this.beginShared, unnamed] : [BEGIN_OWN, config];
    try {
      return await this.transact(`${begin}; ${limiting(limit.milliseconds)}`, statement);
    } catch (error) {
      limit.isOver = isLockTimeout(error);
      throw error;
    }
  }

  /** Pipelined: all parts are sent at once. After an error, PostgreSQL turns the COMMIT into a ROLLBACK (manual, chapter 3.4). */
  private async transact<Row extends QueryResultRow>(
    begin: string,
    statement: QueryConfig,
  ): Promise<QueryResult<Row>> {
    const [begun, result, committed] = await Promise.allSettled([
      this.begin(begin),
      this.send<Row>(statement),
      this.send({ text: 'COMMIT' }),
    ]);
    if (begun.status === 'rejected') throw begun.reason;
    if (result.status === 'rejected') throw result.reason;
    if (committed.status === 'rejected') throw committed.reason;
    return result.value;
  }

  private async begin(text = this.beginShared): Promise<void> {
    // One result for each statement.
    const results: unknown = await this.send({ text });
    const recovery = (results as readonly QueryResult<{ in_hot_standby?: string }>[]).find(
      ({ command }) => command === 'SHOW',
    );
    if (recovery?.rows[0]?.in_hot_standby !== 'off') throw new StandbyError();
  }
}
