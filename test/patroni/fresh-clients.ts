import { Client } from 'pg';

/** Between two clients, in milliseconds. */
const INTERVAL = 100;

/** Timeout of connecting, and of the write, in milliseconds. */
const TIMEOUT = 3_000;

/** An attempt to write. */
export interface Write {
  /** On the clock of `performance.now()`. */
  readonly sentAt: number;
  /** Milliseconds. */
  readonly took: number;
  readonly succeeded: boolean;
}

/** Connect one after the other, whether the former is done or not, and write one row each: what `psql` would see. */
export class FreshClients {
  readonly writes: Write[] = [];
  private readonly pending = new Set<Promise<void>>();
  private readonly timer: NodeJS.Timeout;

  /** @param databaseUrl of a database with {@link FreshClients.TABLE} */
  constructor(private readonly databaseUrl: string) {
    this.timer = setInterval(() => {
      const write = this.write().finally(() => this.pending.delete(write));
      this.pending.add(write);
    }, INTERVAL);
  }

  static readonly TABLE = 'CREATE TABLE fresh_clients (at timestamptz NOT NULL DEFAULT now())';

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.pending);
  }

  private async write(): Promise<void> {
    const sentAt = performance.now();
    const client = new Client({
      connectionString: this.databaseUrl,
      connectionTimeoutMillis: TIMEOUT,
      query_timeout: TIMEOUT,
    });
    client.on('error', () => {});
    let succeeded = true;
    try {
      await client.connect();
      await client.query('INSERT INTO fresh_clients DEFAULT VALUES');
    } catch {
      succeeded = false;
    }
    this.writes.push({ sentAt, took: performance.now() - sentAt, succeeded });
    // Not awaited, because a frozen server does not answer.
    void client.end().catch(() => {});
  }
}
