import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { inject } from 'vitest';

/**
 * In one statement, at whose end no row may refer to one that is gone. For a few rows, this takes a tenth of the time of
 * TRUNCATE, which makes new files for all tables and indexes. Without triggers, readers of changes are told of nothing.
 */
const EMPTY = String.raw`DO $$ BEGIN
  PERFORM set_config('session_replication_role', 'replica', true);
  EXECUTE (SELECT 'WITH ' || string_agg(format('%I AS (DELETE FROM %I)', 'in_' || tablename, tablename), ', ') || ' SELECT'
    FROM pg_tables
    WHERE schemaname = 'public' AND tablename NOT LIKE '%\_migrations' AND tablename NOT LIKE '%\_state');
END $$`;

/** A database of its own on the shared server. */
export interface TestDatabase {
  readonly url: string;
  /** Runs one statement on a connection that the service does not use. */
  query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Removes the rows of all tables. */
  empty(): Promise<void>;
  drop(): Promise<void>;
}

/** A database that the test itself removes, and looks at in other ways. */
export function given(url: string): TestDatabase {
  const cannot = () => Promise.reject(new Error('the test has its own connection'));
  return { url, query: cannot, empty: cannot, drop: () => Promise.resolve() };
}

export async function createTestDatabase(options = ''): Promise<TestDatabase> {
  const server = poolOf(inject('postgresUrl'));
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await server.query(`CREATE DATABASE ${name} ${options}`);
  const url = Object.assign(new URL(inject('postgresUrl')), { pathname: `/${name}` }).href;
  const pool = poolOf(url);
  return {
    url,
    query: async (sql, values = []) =>
      (await pool.query<Record<string, unknown>>(sql, [...values])).rows,
    empty: async () => {
      await pool.query(EMPTY);
    },
    drop: async () => {
      await pool.end();
      await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await server.end();
    },
  };
}

/** A connection costs more than a short statement, so those of a burst share one. */
function poolOf(connectionString: string): Pool {
  const pool = new Pool({ connectionString, idleTimeoutMillis: 500, allowExitOnIdle: true });
  // A test may end all sessions.
  pool.on('error', () => {});
  return pool;
}
