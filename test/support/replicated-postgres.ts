import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject, vi } from 'vitest';
import { embeddedBinaries } from '../../packages/local/src/embedded-binaries.js';
import { serverAccount, spawnAs } from '../../packages/local/src/server-account.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { lastingPort } from './lasting-port.js';
import { copyMadeCluster, makeCluster } from './made-cluster.js';
import { PostgresServer } from './own-postgres.js';
import { processesIn, signalIn } from './process.js';

/** A server that can be the primary or the standby of another one. */
export class ReplicatedServer extends PostgresServer {
  private child: ChildProcess | undefined;

  constructor(
    folder: string,
    readonly url: string,
  ) {
    super(folder);
  }

  /** @param primary a server that takes part in the replication, or a link to one */
  async startAsStandbyOf(primary: { readonly url: string }): Promise<void> {
    const { hostname, port, username, password } = new URL(primary.url);
    await writeFile(join(this.data, 'standby.signal'), '');
    await this.start({
      primary_conninfo: `host=${hostname} port=${port} user=${username} password=${password}`,
    });
  }

  /**
   * Starts as a standby with a new copy of the primary's data (manual, chapter 25.3.3). A primary that was killed can have
   * commits that no standby has received, and then cannot follow the new primary.
   */
  async startAsCopyOf(primary: ReplicatedServer): Promise<void> {
    const client = await primary.connect();
    try {
      await client.query("SELECT pg_backup_start('copy', fast => true)");
      await rm(this.data, { recursive: true });
      // Files that the primary removes meanwhile belong to no backup.
      await promisify(execFile)('cp', ['-a', primary.data, this.data]).catch(() => {});
      const { rows } = await client.query<{ labelfile: string }>('SELECT * FROM pg_backup_stop()');
      await writeFile(join(this.data, 'backup_label'), rows[0]?.labelfile ?? '');
    } finally {
      await client.end();
    }
    for (const file of ['postmaster.pid', 'postmaster.opts', 'postgresql.auto.conf']) {
      await rm(join(this.data, file), { force: true });
    }
    await this.startAsStandbyOf(primary);
  }

  async promote(): Promise<void> {
    await this.query('SELECT pg_promote()');
  }

  /** Waits until this standby has all that the other server has written until now. */
  async catchUpWith(other: ReplicatedServer): Promise<void> {
    const lsn =
      'CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END';
    const [written] = await other.query(`SELECT ${lsn} AS lsn`);
    await vi.waitFor(
      async () => {
        const [row] = await this.query(`SELECT ${lsn} >= '${String(written?.['lsn'])}' AS whole`);
        if (row?.['whole'] !== true) throw new Error('the standby lacks something');
      },
      { timeout: 30_000, interval: 20 },
    );
  }

  /** Fast shutdown, which sends everything to the standby first (manual, chapter 18.5). */
  async stop(): Promise<void> {
    if (this.child === undefined || this.child.exitCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGINT');
    await ended;
  }

  /** In good order, as a primary. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  private get data(): string {
    return join(this.folder, 'postgres', 'data');
  }

  /** Starts as a primary. */
  async start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const { postgres: binary } = await embeddedBinaries();
    const { folder, data } = this;
    const account = await serverAccount({ folder, data, binary });
    this.child = spawnAs(
      account,
      binary,
      [
        `-D${data}`,
        '--listen_addresses=127.0.0.1',
        `--port=${new URL(this.url).port}`,
        '--unix_socket_directories=',
        '--wal_receiver_status_interval=1',
        '--wal_retrieve_retry_interval=100',
        ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
      ],
      { detached: true, stdio: 'ignore' },
    );
    await this.accepting();
  }
}

/** Servers with the same data: a primary, and its standby. */
export interface ReplicatedPostgres {
  readonly primary: ReplicatedServer;
  readonly standby: ReplicatedServer;
  /** Can become another standby. It is not started. */
  readonly spare: ReplicatedServer;
  stop(): Promise<void>;
}

/** @param settings of the primary */
export async function startReplicatedPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<ReplicatedPostgres> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'plant-store-replicated-'));
  const made = inject('madeCluster') ?? (await makeCluster(join(folder, 'made')));
  const copyOf = async (name: string): Promise<ReplicatedServer> => {
    const copy = join(folder, name);
    await copyMadeCluster(copy, made);
    const port = String(await lastingPort());
    return new ReplicatedServer(copy, Object.assign(new URL(made.url), { port }).href);
  };
  const primary = await copyOf('primary');
  const standby = await copyOf('standby');
  const spare = await copyOf('spare');
  await primary.start(settings);
  await standby.startAsStandbyOf(primary);
  return {
    primary,
    standby,
    spare,
    async stop() {
      for (const signal of ['SIGCONT', 'SIGQUIT'] as const) signalIn(folder, signal);
      await vi.waitFor(() => {
        if (processesIn(folder).length > 0) throw new Error('a server is still running');
      }, PATIENCE);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
