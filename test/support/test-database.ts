import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { inject } from 'vitest';

/** A database of its own on the shared server. */
export interface TestDatabase {
  readonly url: string;
  /** Runs one statement on a connection of its own. */
  query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
}

/** A database with the schema of the service. */
export function createMigratedDatabase(): Promise<TestDatabase> {
  return createTestDatabase(`TEMPLATE ${inject('migratedDatabase')}`);
}

export async function createTestDatabase(options = ''): Promise<TestDatabase> {
  const server = inject('postgresUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await query(server, `CREATE DATABASE ${name} ${options}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    query: (sql, values) => query(url.href, sql, values),
    drop: async () => {
      await query(server, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

async function query(
  connectionString: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql, [...values])).rows;
  } finally {
    await client.end();
  }
}
