import { Client } from 'pg';
import type { TestDatabase } from './test-database.js';

/** For the URL of the database: statements wait for a lock as long as tests hold it. */
export const WAIT_FOR_LOCKS = 'lock_timeout=20000';

/** For `pg_locks`: copies of a database have tables with the same oid, and the view has the locks of all databases. */
export const OWN_LOCKS =
  'database = (SELECT oid FROM pg_database WHERE datname = current_database())';

/** Locks the table against writes until the returned function is called. */
export async function lockPlants({ url }: TestDatabase): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN; LOCK TABLE plants IN SHARE MODE');
  return () => client.end();
}
