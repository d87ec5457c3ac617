import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { vi } from 'vitest';
import { connect } from './own-postgres.js';

/** Locks that a write to the table waits for (PostgreSQL manual, chapter 13.3.1). */
const STRONG = "('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')";

interface Work {
  /** Tables that had rows before the migration, on which the transaction has a strong lock. */
  readonly locked: readonly string[];
  /** Rows that it has read. */
  readonly read: number;
  /** Of these tables. A table that is written anew gets another file. */
  readonly files: string;
}

/** Finds statements of migrations that keep the writers of a table with rows waiting. */
export class LockCheck {
  /** A sentence for each of those statements. */
  readonly offences: string[] = [];

  private constructor(
    private readonly writer: Client,
    private readonly observer: Client,
    private readonly fill: (client: Client) => Promise<unknown>,
  ) {}

  /** @param fill makes sure that the tables that exist have rows */
  static async on(url: string, fill: (client: Client) => Promise<unknown>): Promise<LockCheck> {
    return new LockCheck(await connect(url), await connect(url), fill);
  }

  /** Checks the migrations from now on, in both directions. */
  watch(migrations: readonly MigrationInterface[]): void {
    for (const migration of migrations) {
      const prototype = Object.getPrototypeOf(migration) as MigrationInterface;
      for (const direction of ['up', 'down'] as const) {
        const run = prototype[direction].bind(migration);
        vi.spyOn(prototype, direction).mockImplementation(async (session) => {
          await this.fill(this.writer);
          await run(this.checked(session, await this.tables()));
        });
      }
    }
  }

  async end(): Promise<void> {
    await this.writer.end();
    await this.observer.end();
  }

  /** Those with rows, by their object ids. */
  private async tables(): Promise<readonly string[]> {
    const { rows } = await this.writer.query<{ oid: string }>(
      `SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
         AND pg_relation_size(oid) > 0`,
    );
    return rows.map(({ oid }) => oid);
  }

  private checked(session: QueryRunner, tables: readonly string[]): QueryRunner {
    const query = (sql: string, parameters?: unknown[]): Promise<unknown> => {
      const statement = () => session.query(sql, parameters);
      return session.isTransactionActive
        ? this.inTransaction(session, tables, sql, statement)
        : this.alone(session, tables, sql, statement);
    };
    return new Proxy(session, {
      get: (target, name, receiver) =>
        name === 'query' ? query : (Reflect.get(target, name, receiver) as unknown),
    });
  }

  /** The transaction keeps its locks, so it must not read or write a table anew once it has a strong one. */
  private async inTransaction(
    session: QueryRunner,
    tables: readonly string[],
    sql: string,
    statement: () => Promise<unknown>,
  ): Promise<unknown> {
    const before = await workOf(session, tables);
    const result = await statement();
    const { locked, read, files } = await workOf(session, tables);
    // The files of a table that is dropped are gone.
    const isDrop = sql.startsWith('DROP TABLE');
    if (!isDrop && locked.length > 0 && (read > before.read || files !== before.files)) {
      this.offences.push(`${sql} works while it locks ${locked.join()}`);
    }
    return result;
  }

  /** Without a transaction, there is no lock timeout: the statement must not wait for a lock that a writer has. */
  private async alone(
    session: QueryRunner,
    tables: readonly string[],
    sql: string,
    statement: () => Promise<unknown>,
  ): Promise<unknown> {
    const [row] = (await session.query('SELECT pg_backend_pid() AS pid')) as { pid: number }[];
    await this.writeTo(tables);
    const running = statement();
    const isDone = running.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([isDone, sleep(5, false)]))) {
      const { rows } = await this.observer.query<{ type: string; name: string | null }>(
        'SELECT locktype AS type, relation::regclass::text AS name FROM pg_locks WHERE pid = $1 AND NOT granted',
        [row?.pid],
      );
      if (rows.length > 0) {
        const { type, name } = rows[0]!;
        if (type === 'relation') this.offences.push(`${sql} waits for the writers of ${name}`);
        // Otherwise it waits until transactions that have begun before have ended, and others can begin.
        break;
      }
    }
    await this.writer.query('COMMIT');
    return running;
  }

  private async writeTo(tables: readonly string[]): Promise<void> {
    await this.writer.query('BEGIN');
    await this.writer.query('SELECT pg_current_xact_id()');
    for (const table of tables) {
      const { rows } = await this.observer.query<{ name: string }>(
        'SELECT $1::regclass::text AS name',
        [table],
      );
      await this.writer.query(`LOCK TABLE ${rows[0]?.name} IN ROW EXCLUSIVE MODE`);
    }
  }
}

async function workOf(session: QueryRunner, tables: readonly string[]): Promise<Work> {
  const [work] = (await session.query(
    `SELECT
       (SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int
          FROM pg_stat_xact_user_tables) AS read,
       (SELECT string_agg(concat(oid, ' ', pg_relation_filenode(oid)), ',' ORDER BY oid)
          FROM pg_class WHERE oid = ANY ($1::oid[])) AS files,
       ARRAY(SELECT DISTINCT relation::regclass::text FROM pg_locks
               WHERE pid = pg_backend_pid() AND granted AND mode IN ${STRONG}
                 -- Not one that the transaction has dropped.
                 AND relation = ANY ($1::oid[]) AND relation IN (SELECT oid FROM pg_class)) AS locked`,
    [tables],
  )) as readonly Work[];
  return work!;
}
