import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, escapeLiteral } from 'pg';
import { startEmbeddedPostgres } from '../packages/local/src/embedded-postgres.js';
import type { EmbeddedPostgres } from '../packages/local/src/embedded-postgres.js';
import { PROJECT } from './contender.js';
import type { NumberedPlant } from './load.js';
import { IDENTITY } from '../src/identity.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Creates that are left behind come in so many milliseconds, or not any more. */
const SETTLED = 250;

function leave(): never {
  process.exit(1);
}

/** A server for all contenders, with default settings unless others are asked for, and thus full durability. */
export class Databases {
  private constructor(
    private readonly server: EmbeddedPostgres,
    private readonly onExit: () => void,
    /** For files that are removed together with the server. */
    readonly folder: string,
    readonly version: string,
  ) {}

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<Databases> {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-bench-'));
    // However the benchmark ends, the server stops by itself, and the contenders with their parent.
    const onExit = () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    process.once('exit', onExit);
    for (const signal of SIGNALS) process.once(signal, leave);
    const server = await startEmbeddedPostgres(IDENTITY, folder, { settings });
    // After the listener that ends the server: while the server writes, its folder cannot be removed.
    process.off('exit', onExit).once('exit', onExit);
    const [row] = await query(server.url, 'SHOW server_version');
    return new Databases(server, onExit, folder, String(row?.['server_version']));
  }

  /** Process id of the server. Its connections are child processes. */
  get pid(): number {
    return this.server.pid;
  }

  /** A new database with the schema of the service. */
  async create(name: string): Promise<BenchDatabase> {
    await query(this.server.url, `CREATE DATABASE "${name}"`);
    const url = new URL(this.server.url);
    url.pathname = `/${name}`;
    await promisify(execFile)(
      process.execPath,
      [join(PROJECT, 'dist', 'cli', 'migration.js'), 'run'],
      { cwd: this.folder, env: { DATABASE_URL: url.href } },
    );
    return new BenchDatabase(url.href);
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await rm(this.folder, { recursive: true, force: true });
    process.off('exit', this.onExit);
    for (const signal of SIGNALS) process.off(signal, leave);
  }
}

export class BenchDatabase {
  /** What {@link hold} has stored, if nothing has been stored since. */
  private held: number | undefined;

  constructor(readonly url: string) {}

  /** Empties the tables, and completes pending work of the server. */
  async clear(): Promise<void> {
    this.held = undefined;
    await query(this.url, 'TRUNCATE plants, plant_changes');
    await this.checkpoint();
  }

  /**
   * Waits until no creates are stored any more: a load generator that ends leaves some without an answer, which a contender may still
   * have in a queue.
   */
  async settle(): Promise<void> {
    for (let last = -1; ; await sleep(SETTLED)) {
      const { rows } = await this.stored();
      if (rows === last) return;
      last = rows;
    }
  }

  async checkpoint(): Promise<void> {
    await query(this.url, 'CHECKPOINT');
  }

  query(sql: string): Promise<Record<string, unknown>[]> {
    return query(this.url, sql);
  }

  /** Transactions so far. */
  async commits(): Promise<number> {
    const [row] = await this.query(
      'SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()',
    );
    return Number(row?.['xact_commit']);
  }

  /** Stores plants with even ids, which no load generator uses. */
  async fill(rows: number): Promise<void> {
    const stride = Math.floor(2 ** 40 / Math.max(rows, 1));
    await query(
      this.url,
      `INSERT INTO plants (id, name, tag)
       SELECT id, 'Plant ' || id, 'indoor'
       FROM generate_series(1::bigint, ${rows}) AS n, LATERAL (SELECT n * ${stride} * 2) AS t (id)`,
    );
    await query(this.url, 'VACUUM ANALYZE plants');
    await this.checkpoint();
  }

  /** Makes the table hold the first plants of the load generators, and nothing else. Does nothing if it holds them already. */
  async hold(plants: number): Promise<void> {
    if (this.held === plants) return;
    await this.clear();
    // The ids of plantOf() in load.ts.
    await query(
      this.url,
      `INSERT INTO plants (id, name, tag)
       SELECT id, 'Plant ' || id, 'indoor'
       FROM generate_series(0::bigint, ${plants - 1}) AS n,
         LATERAL (SELECT n * 2654435761 % (2 ^ 26)::bigint) AS s (scattered),
         LATERAL (SELECT scattered * (2 * scattered + 1) % (2 ^ 40)::bigint * 2 + 1) AS t (id)`,
    );
    await query(this.url, 'VACUUM ANALYZE plants');
    await this.checkpoint();
    this.held = plants;
  }

  /** Stores plants from a file in the text format of COPY. The server reads the file itself. */
  async copyFrom(file: string): Promise<void> {
    await query(this.url, `COPY plants (id, name, tag) FROM ${escapeLiteral(file)}`);
  }

  /** Stores plants as a group of creates does. Returns the lines of the plan that begin with `Buffers:` and `WAL:`. */
  async explainCreates(plants: readonly NumberedPlant[]): Promise<readonly string[]> {
    const plan = await query(
      this.url,
      `EXPLAIN (ANALYZE, BUFFERS, WAL) INSERT INTO plants (id, name, tag)
       SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])
       ON CONFLICT (id) DO UPDATE SET name = plants.name
       WHERE plants.name = EXCLUDED.name AND plants.tag IS NOT DISTINCT FROM EXCLUDED.tag
       RETURNING id`,
      [plants.map(({ id }) => id), plants.map(({ name }) => name), plants.map(({ tag }) => tag)],
    );
    // The first of each kind belongs to the whole statement.
    return ['Buffers:', 'WAL:'].map((kind) => {
      const line = plan.map((row) => String(row['QUERY PLAN'])).find((text) => text.includes(kind));
      return line?.replace(kind, '').trim() ?? '';
    });
  }

  /** Counts the stored plants of the load generators, and checks that all are stored as sent. */
  async stored(): Promise<{ readonly rows: number; readonly asSent: boolean }> {
    const [row] = await query(
      this.url,
      `SELECT count(*)::int AS rows,
         coalesce(bool_and(name = 'Plant ' || id AND tag = 'indoor'), true) AS "asSent"
       FROM plants WHERE id % 2 = 1`,
    );
    return row as { rows: number; asSent: boolean };
  }
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
