import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { vi } from 'vitest';
import { startEmbeddedPostgres } from '../../packages/local/src/embedded-postgres.js';
import type { EmbeddedPostgres } from '../../packages/local/src/embedded-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { lastingPort } from './lasting-port.js';
import { copyMadeCluster } from './made-cluster.js';
import { signalIn } from './process.js';
import type { WantedPlant } from './reckoning.js';
import { IDENTITY } from '../../src/identity.js';

/** A PostgreSQL server that a test may do anything to. */
export abstract class PostgresServer {
  /** Of its database for the service, as a superuser. */
  abstract readonly url: string;

  protected constructor(protected readonly folder: string) {}

  connect(): Promise<Client> {
    return connect(this.url);
  }

  /** Runs one statement on a connection of its own. */
  query(sql: string): Promise<Record<string, unknown>[]> {
    return query(this.url, sql);
  }

  /** Waits until the server accepts connections. */
  async accepting(): Promise<void> {
    await vi.waitFor(() => this.query('SELECT 1'), { timeout: PATIENCE, interval: 20 });
  }

  /** @param condition SQL that selects plants, by default all of them */
  plants(condition?: string): Promise<WantedPlant[]> {
    return plantsIn(this.url, condition);
  }

  /** Signals the postmaster and all that it has started. */
  signal(signal: NodeJS.Signals): void {
    signalIn(this.folder, signal);
  }
}

/** As durable as one in production. */
export class OwnPostgres extends PostgresServer {
  private constructor(
    folder: string,
    private readonly settings: Readonly<Record<string, string>>,
    private server: EmbeddedPostgres,
  ) {
    super(folder);
  }

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<OwnPostgres> {
    const folder = await mkdtemp(join(await realpath(tmpdir()), 'plant-store-faults-'));
    await copyMadeCluster(folder);
    const all = { ...settings, port: String(await lastingPort()) };
    return new OwnPostgres(
      folder,
      all,
      await startEmbeddedPostgres(IDENTITY, folder, { settings: all }),
    );
  }

  get url(): string {
    return this.server.url;
  }

  /** Of the postmaster. */
  get pid(): number {
    return this.server.pid;
  }

  /** Ends all sessions of the service. */
  async endSessions(): Promise<void> {
    await this.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plant-store'",
    );
  }

  /** Process ids of the sessions that serve the service. */
  async backends(): Promise<number[]> {
    const rows = await this.query(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'plant-store'",
    );
    return rows.map(({ pid }) => Number(pid));
  }

  /** Kills one of them, after which PostgreSQL ends all sessions and recovers. */
  async killBackend(): Promise<void> {
    const [backend] = await this.backends();
    process.kill(backend!, 'SIGKILL');
  }

  /** Starts the server that was killed, on the same port; resolves when it accepts connections. */
  async startAgain(): Promise<void> {
    this.server = await startEmbeddedPostgres(IDENTITY, this.folder, { settings: this.settings });
  }

  /** Stops the server in good order, and starts it. */
  async restart(): Promise<void> {
    await this.server.stop();
    await this.startAgain();
  }

  async stop(): Promise<void> {
    this.signal('SIGCONT');
    await this.server.stop();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  // A test that does away with the server expects it.
  client.on('error', () => {});
  await client.connect();
  return client;
}

export async function plantsIn(databaseUrl: string, condition = 'true'): Promise<WantedPlant[]> {
  const rows = await query(databaseUrl, `SELECT id, name, tag FROM plants WHERE ${condition}`);
  return rows.map(({ id, name, tag }) => ({
    id: BigInt(id as string),
    name: name as string,
    tag: tag as string | null,
  }));
}

/** Runs one statement on a connection of its own. */
export async function query(databaseUrl: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = await connect(databaseUrl);
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
