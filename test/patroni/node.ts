import type { ChildProcess } from 'node:child_process';
import { chown, mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { serverAccount, spawnAs } from '../../packages/local/src/server-account.js';
import type { ServerAccount } from '../../packages/local/src/server-account.js';
import { lastingPort } from '../support/lasting-port.js';
import { processesIn } from '../support/process.js';

/** Where `npm run test:patroni` installs Patroni. */
export const PATRONI = resolve('node_modules/.cache/patroni/bin');

const SUPERUSER = { username: 'plants', password: 'a-password-of-a-test' };

/** Paths of Debian's programs. */
export interface Programs {
  readonly etcd: string;
  readonly haproxy: string;
  /** Folder of PostgreSQL's programs. */
  readonly postgres: string;
}

interface Ports {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly postgres: number;
  readonly rest: number;
}

/** A machine of the cluster: a member of etcd, Patroni, and the PostgreSQL server that Patroni runs. */
export class Node {
  private etcd: ChildProcess | undefined;
  private patroni: ChildProcess | undefined;

  private constructor(
    readonly name: string,
    readonly folder: string,
    readonly ports: Ports,
    private readonly programs: Programs,
  ) {}

  static async create(name: string, folder: string, programs: Programs): Promise<Node> {
    const ports = {
      etcd: await lastingPort(),
      etcdPeer: await lastingPort(),
      postgres: await lastingPort(),
      rest: await lastingPort(),
    };
    const node = new Node(name, join(folder, name), ports, programs);
    await mkdir(node.database, { recursive: true });
    return node;
  }

  /** Of PostgreSQL. */
  get url(): string {
    return urlAt(this.ports.postgres);
  }

  /** Of Patroni's REST API. */
  get restUrl(): string {
    return `http://127.0.0.1:${this.ports.rest}`;
  }

  /** Of Patroni and of `patronictl`. */
  get configuration(): string {
    return join(this.database, 'patroni.json');
  }

  /** Starts what is not running. */
  async start(nodes: readonly Node[]): Promise<void> {
    if (hasEnded(this.etcd)) this.etcd = await this.startEtcd(nodes);
    if (hasEnded(this.patroni)) this.patroni = await this.startPatroni(nodes);
  }

  /** Signals all processes of the machine. */
  signal(signal: NodeJS.Signals): void {
    for (const pid of processesIn(`${this.folder}/`)) send(pid, signal);
  }

  killEtcd(): void {
    this.etcd?.kill('SIGKILL');
  }

  killPatroni(): void {
    this.patroni?.kill('SIGKILL');
  }

  async killPostmaster(): Promise<void> {
    const [pid] = (await readFile(join(this.data, 'postmaster.pid'), 'utf8')).split('\n');
    send(Number(pid), 'SIGKILL');
  }

  private get database(): string {
    return join(this.folder, 'database');
  }

  private get data(): string {
    return join(this.database, 'data');
  }

  private startEtcd(nodes: readonly Node[]): Promise<ChildProcess> {
    const client = `http://127.0.0.1:${this.ports.etcd}`;
    const peers = nodes.map(({ name, ports }) => `${name}=http://127.0.0.1:${ports.etcdPeer}`);
    const peer = `http://127.0.0.1:${this.ports.etcdPeer}`;
    return this.spawn('etcd', { command: [] }, this.programs.etcd, [
      `--name=${this.name}`,
      `--data-dir=${join(this.folder, 'etcd')}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=${peers.join()}`,
      '--logger=zap',
    ]);
  }

  private async startPatroni(nodes: readonly Node[]): Promise<ChildProcess> {
    const { database, data } = this;
    await writeFile(this.configuration, JSON.stringify(this.settings(nodes)));
    // Like PostgreSQL, Patroni cannot run it as root.
    const account = await serverAccount({
      folder: this.folder,
      data,
      binary: this.programs.postgres,
    });
    if (account.uid !== undefined) await chown(database, account.uid, account.gid ?? -1);
    return this.spawn('patroni', account, join(PATRONI, 'patroni'), [this.configuration]);
  }

  private settings(nodes: readonly Node[]): object {
    const rest = `127.0.0.1:${this.ports.rest}`;
    const postgres = `127.0.0.1:${this.ports.postgres}`;
    return {
      scope: 'plant-store',
      name: this.name,
      restapi: { listen: rest, connect_address: rest },
      etcd3: { hosts: nodes.map(({ ports }) => `127.0.0.1:${ports.etcd}`) },
      // Everything else is Patroni's default: ttl 30, loop_wait 10, retry_timeout 10.
      bootstrap: {
        dcs: {
          synchronous_mode: true,
          failsafe_mode: true,
          postgresql: { use_pg_rewind: true },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
      },
      postgresql: {
        listen: postgres,
        connect_address: postgres,
        bin_dir: this.programs.postgres,
        data_dir: this.data,
        authentication: { superuser: SUPERUSER, replication: SUPERUSER },
        pg_hba: ['all', 'replication'].map((name) => `host ${name} all 127.0.0.1/32 scram-sha-256`),
        parameters: { unix_socket_directories: '' },
      },
    };
  }

  private async spawn(
    name: string,
    account: ServerAccount,
    program: string,
    programArguments: readonly string[],
  ): Promise<ChildProcess> {
    const log = await open(join(this.folder, `${name}.log`), 'a');
    try {
      return spawnAs(account, program, programArguments, { stdio: ['ignore', log.fd, log.fd] });
    } finally {
      await log.close();
    }
  }
}

/** URL of a PostgreSQL server, or of what stands before it. */
export function urlAt(port: number): string {
  const { username, password } = SUPERUSER;
  return `postgres://${username}:${password}@127.0.0.1:${port}/postgres`;
}

function hasEnded(child: ChildProcess | undefined): boolean {
  return child === undefined || child.exitCode !== null || child.signalCode !== null;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It left by itself.
  }
}
