import { Client } from 'pg';
import type { ClientConfig } from 'pg';

/**
 * A connection of the pool. The pool stops listening for errors when it lends a connection, TypeORM
 * starts a moment later: an error in between, such as the end that the server has put behind its
 * greeting, would end the process. It need not be handled here, because no statement gets through
 * from then on, and the pool drops the connection when it is given back.
 */
export class PoolClient extends Client {
  private ownSession = false;

  constructor(config?: ClientConfig) {
    super(config);
    this.on('error', () => {});
  }

  /**
   * Whether the session at the other end serves this connection alone, so that it may keep prepared
   * statements, and bounds each statement by itself. A pooler such as PgBouncer lends its sessions to
   * many clients: nothing may be left behind in them.
   */
  get hasOwnSession(): boolean {
    return this.ownSession;
  }

  /**
   * Finds out whose session it is, and bounds the statements of an own one. PostgreSQL names its
   * process in the greeting (manual, chapter 54.2.1); a pooler names something of its own.
   *
   * @param statementTimeout in milliseconds
   */
  async adoptSession(statementTimeout: number): Promise<void> {
    const { processID } = this as unknown as { readonly processID: number | null };
    const { rowCount } = await this.query(
      `SELECT set_config('statement_timeout', $1, false) WHERE pg_backend_pid() = $2`,
      [String(statementTimeout), processID],
    );
    this.ownSession = rowCount === 1;
  }

  /** Fails what is under way, and has the pool drop the connection. */
  abandon(): void {
    this.connection.stream.destroy();
  }
}
