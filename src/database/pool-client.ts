import { Client } from 'pg';
import type { ClientConfig, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { StandbyError } from './database-failure.js';

/** What runs the statements of a connection, and learns from what becomes of them. */
export interface StatementRunner {
  run<T>(client: PoolClient, text: string, send: () => Promise<T>): Promise<T>;
}

/** node-postgres' client as TypeORM and the service call it: statements are waited for with promises. */
const PromiseClient = Client as unknown as new (config?: ClientConfig) => Omit<Client, 'query'> & {
  query<Row extends QueryResultRow>(
    statement: string | QueryConfig,
    values?: unknown[],
  ): Promise<QueryResult<Row>>;
};

const NO_RESULT = { command: 'BEGIN', rowCount: null, oid: 0, fields: [], rows: [] };

/**
 * A connection of the pool. The pool stops listening for errors when it lends a connection, TypeORM
 * starts a moment later: an error in between, such as the end that the server has put behind its
 * greeting, would end the process. It need not be handled here, because no statement gets through
 * from then on, and the pool drops the connection when it is given back.
 */
export class PoolClient extends PromiseClient {
  /** Set by the pool, for each time that it lends the connection. */
  declare readonly release: (failure?: Error) => void;

  private runner: StatementRunner | undefined;
  private beginTransaction = '';
  private ownSession = false;
  private inTransaction = false;

  constructor(config?: ClientConfig) {
    super(config);
    this.on('error', () => {});
  }

  /**
   * Finds out whose session it is. PostgreSQL names its process in the greeting (manual, chapter
   * 54.2.1); a pooler such as PgBouncer, which lends its sessions to many clients, names something of
   * its own. In a session of our own, statements are bounded here, may be prepared, and are sent alone.
   * It stays with a primary for as long as it lives, because a server becomes a standby by a restart
   * only (manual, chapter 26.4). In the session of a pooler nothing may be left behind: each statement
   * is sent with a transaction around it, in which the server says what it is.
   *
   * @param statementTimeout in milliseconds
   * @throws StandbyError
   */
  async adoptSession(statementTimeout: number, runner?: StatementRunner): Promise<void> {
    const { processID } = this as unknown as { readonly processID: number | null };
    const { rows } = await super.query<{ own: boolean; standby: boolean }>(
      `SELECT pid = $2 AS own, pg_is_in_recovery() AS standby,
         CASE WHEN pid = $2 THEN set_config('statement_timeout', $1, false) END
       FROM pg_backend_pid() AS pid`,
      [String(statementTimeout), processID],
    );
    if (rows[0]?.standby === true) throw new StandbyError();
    this.ownSession = rows[0]?.own === true;
    // SHOW takes no snapshot, so that TypeORM may still set the isolation level of its transaction.
    this.beginTransaction = `BEGIN; SET LOCAL statement_timeout = ${statementTimeout}; SHOW in_hot_standby`;
    this.runner = runner;
  }

  override query<Row extends QueryResultRow>(
    statement: string | QueryConfig,
    values?: unknown[],
  ): Promise<QueryResult<Row>> {
    const text = typeof statement === 'string' ? statement : statement.text;
    const send = () =>
      this.ownSession
        ? super.query<Row>(statement, values)
        : this.inSharedSession<Row>(
            text,
            typeof statement === 'string' ? values : statement.values,
          );
    return this.runner === undefined ? send() : this.runner.run(this, text, send);
  }

  /** Fails what is under way, and has the pool drop the connection. */
  abandon(): void {
    this.connection.stream.destroy();
  }

  /** In the transaction that TypeORM has begun, or in one of its own, in one round trip. */
  private async inSharedSession<Row extends QueryResultRow>(
    text: string,
    values: unknown[] = [],
  ): Promise<QueryResult<Row>> {
    if (text === 'START TRANSACTION') {
      // TypeORM gives back the connection of a transaction that it could not begin, in whatever state that is.
      await this.begin().catch((error: unknown) => {
        this.abandon();
        throw error;
      });
      this.inTransaction = true;
      return NO_RESULT;
    }
    if (this.inTransaction) {
      if (text === 'COMMIT' || text === 'ROLLBACK') this.inTransaction = false;
      return super.query<Row>(text, values);
    }
    // None of the parts is waited for before the next is sent. After a failure, whichever it is, PostgreSQL
    // turns the COMMIT into a ROLLBACK (manual, chapter 3.4).
    const [begun, result, committed] = await Promise.allSettled([
      this.begin(),
      super.query<Row>(text, values),
      super.query('COMMIT'),
    ]);
    for (const part of [begun, committed]) {
      if (part.status === 'rejected') throw part.reason;
    }
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  }

  private async begin(): Promise<void> {
    // Three statements have three results.
    const results: unknown = await super.query(this.beginTransaction);
    const [, , recovery] = results as readonly QueryResult<{ in_hot_standby: string }>[];
    if (recovery?.rows[0]?.in_hot_standby !== 'off') throw new StandbyError();
  }
}
