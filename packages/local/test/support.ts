import { Client } from 'pg';

export const IDENTITY = { name: 'tool-library' };

/** Settings of a server whose data need not survive. */
export const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** How long a test waits for what should happen at once, in milliseconds: long enough for a busy machine. */
export const PATIENCE = 60_000;

export async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  // A test that stops the server expects it.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Runs one statement on a connection of its own. */
export async function query(url: string, sql: string): Promise<unknown[]> {
  const client = await connect(url);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
