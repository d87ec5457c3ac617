import { Client } from 'pg';
import type { TestDatabase } from './test-database.js';

/** Locks the table against writes until the returned function is called. */
export async function lockPlants({ url }: TestDatabase): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN; LOCK TABLE plants IN SHARE MODE');
  return () => client.end();
}
