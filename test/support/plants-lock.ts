import { Client } from 'pg';
import { expect, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';

/** For the URL of the database: statements wait for a lock as long as tests hold it. */
export const WAIT_FOR_LOCKS = 'lock_timeout=20000';

/** For `pg_locks`: copies of a database have tables with the same oid, and the view has the locks of all databases. */
export const OWN_LOCKS =
  'database = (SELECT oid FROM pg_database WHERE datname = current_database())';

interface Unlock {
  (): Promise<void>;
  /** Waits until so many statements wait for the lock. */
  waiting(count: number): Promise<void>;
}

/** Locks the table until the returned function is called: against writes, or in another mode. */
export async function lockPlants({ url }: TestDatabase, mode = 'SHARE'): Promise<Unlock> {
  const client = new Client({ connectionString: url });
  // A test that failed drops its database under the lock.
  client.on('error', () => {});
  await client.connect();
  // What waits for the lock of a test that failed must not wait forever.
  await client.query("SET idle_in_transaction_session_timeout = '5min'");
  await client.query(`BEGIN; LOCK TABLE plants IN ${mode} MODE`);
  const waiting = (count: number) =>
    vi.waitFor(
      async () => {
        const { rows } = await client.query(
          `SELECT FROM pg_locks WHERE NOT granted AND relation = 'plants'::regclass AND ${OWN_LOCKS}`,
        );
        expect(rows).toHaveLength(count);
      },
      { timeout: PATIENCE, interval: 10 },
    );
  return Object.assign(() => client.end(), { waiting });
}
