import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { serverAccount, spawnAs } from '../../packages/local/src/server-account.js';
import type { ServerAccount } from '../../packages/local/src/server-account.js';
import { lastingPort } from '../support/lasting-port.js';
import { connect, plantsIn } from '../support/own-postgres.js';
import { processesIn } from '../support/process.js';
import type { WantedPlant } from '../support/reckoning.js';

/** Timeout for a server to start, with crash recovery, or to end, in milliseconds. */
const BOUND = { timeout: 60_000, interval: 50 };

const USER = 'plant_store';

type Settings = Readonly<Record<string, string | number>>;

const CITUS: Settings = {
  shared_preload_libraries: 'citus',
  // It would report the size of the cluster to the makers of Citus.
  'citus.enable_statistics_collection': 'off',
  // As docs/scaling.md recommends.
  'citus.recover_2pc_interval': '1s',
  'citus.shard_count': 4,
  // The service connects without TLS, too.
  'citus.node_conninfo': 'sslmode=disable',
};

/** A coordinator and two workers, beside a server without Citus for comparison. */
export class CitusCluster {
  private constructor(
    private readonly folder: string,
    readonly coordinator: Server,
    readonly workers: readonly Server[],
    readonly single: Server,
  ) {}

  static async start(): Promise<CitusCluster> {
    const programs = await programsWithCitus();
    const folder = await mkdtemp(join(await realpath(tmpdir()), 'plant-store-citus-'));
    const password = randomBytes(24).toString('base64url');
    const start = (name: string, settings: Settings) =>
      Server.start(join(folder, name), programs, password, settings);
    try {
      const coordinator = await start('coordinator', CITUS);
      const workers = [await start('worker-1', CITUS), await start('worker-2', CITUS)];
      for (const node of [coordinator, ...workers]) {
        await node.query('CREATE EXTENSION citus');
        await node.query(
          `INSERT INTO pg_dist_authinfo VALUES (0, '${USER}', 'password=${password}')`,
        );
      }
      await coordinator.query(
        `SELECT citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`,
      );
      for (const { port } of workers) {
        await coordinator.query(`SELECT citus_add_node('127.0.0.1', ${port})`);
      }
      return new CitusCluster(folder, coordinator, workers, await start('single', {}));
    } catch (error) {
      await remove(folder);
      throw error;
    }
  }

  stop(): Promise<void> {
    return remove(this.folder);
  }
}

/** A PostgreSQL server with the default settings, and thus durable. */
export class Server {
  private constructor(
    private readonly folder: string,
    private readonly programs: string,
    private readonly settings: Settings,
    readonly url: string,
  ) {}

  static async start(
    folder: string,
    programs: string,
    password: string,
    settings: Settings,
  ): Promise<Server> {
    const port = await lastingPort();
    const url = `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`;
    const server = new Server(folder, programs, settings, url);
    await server.initialize(password);
    await server.startAgain();
    return server;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Resolves when the server accepts connections. */
  async startAgain(): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      port: this.port,
      unix_socket_directories: '',
      ...this.settings,
    };
    const options = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    spawnAs(await this.account(), join(this.programs, 'postgres'), [`-D${this.data}`, ...options], {
      detached: true,
      stdio: 'ignore',
    });
    await vi.waitFor(() => this.query('SELECT 1'), BOUND);
  }

  /** Kills all processes of the server, as when its machine fails. */
  kill(): Promise<void> {
    return endProcesses(this.folder, 'SIGKILL');
  }

  /** Runs one statement on a connection of its own. */
  async query(sql: string): Promise<Record<string, unknown>[]> {
    const client = await connect(this.url);
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  plants(): Promise<WantedPlant[]> {
    return plantsIn(this.url);
  }

  private get data(): string {
    return join(this.folder, 'data');
  }

  private account(): Promise<ServerAccount> {
    const { folder, data, programs } = this;
    return serverAccount({ folder, data, binary: join(programs, 'postgres') });
  }

  private async initialize(password: string): Promise<void> {
    await mkdir(this.folder);
    const passwordFile = join(this.folder, 'password');
    await writeFile(passwordFile, password, { mode: 0o600 });
    const account = await this.account();
    if (account.uid !== undefined) {
      for (const path of [this.folder, passwordFile]) await chown(path, account.uid, -1);
    }
    const initdb = spawnAs(
      account,
      join(this.programs, 'initdb'),
      [
        `--pgdata=${this.data}`,
        `--username=${USER}`,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
      ],
      { stdio: 'ignore' },
    );
    const [code] = (await once(initdb, 'close')) as [number | null];
    if (code !== 0) throw new Error(`initdb ended with ${code}`);
  }
}

/**
 * The folder of the programs of a PostgreSQL server that has the extension Citus.
 *
 * @throws Error which says what is missing
 */
async function programsWithCitus(): Promise<string> {
  const pgConfig = process.env['PG_CONFIG'] ?? 'pg_config';
  const ask = async (question: string) =>
    (await promisify(execFile)(pgConfig, [question])).stdout.trim();
  const remedy =
    'install a PostgreSQL server with the extension Citus, and set PG_CONFIG to the path of its pg_config';
  const [programs, shared] = await Promise.all([ask('--bindir'), ask('--sharedir')]).catch(
    (cause: unknown) => {
      throw new Error(`${pgConfig} does not run: ${remedy}`, { cause });
    },
  );
  for (const file of [join(programs, 'postgres'), join(shared, 'extension', 'citus.control')]) {
    if (!existsSync(file)) throw new Error(`there is no ${file}: ${remedy}`);
  }
  return programs;
}

async function endProcesses(folder: string, signal: NodeJS.Signals): Promise<void> {
  for (const pid of processesIn(folder)) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended by itself.
    }
  }
  await vi.waitFor(() => {
    if (processesIn(folder).length > 0) throw new Error('a server is still running');
  }, BOUND);
}

async function remove(folder: string): Promise<void> {
  // An immediate shutdown. Unlike SIGKILL, it releases shared memory.
  await endProcesses(folder, 'SIGQUIT');
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
