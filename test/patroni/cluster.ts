import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, vi } from 'vitest';
import { lastingPort } from '../support/lasting-port.js';
import { connect, plantsIn } from '../support/own-postgres.js';
import { processesIn, until } from '../support/process.js';
import type { WantedPlant } from '../support/reckoning.js';
import { Node, PATRONI, urlAt } from './node.js';
import type { Programs } from './node.js';

/** Milliseconds for what Patroni does by itself: longer than its `ttl` and two rounds of its loop. */
const PATIENCE = { timeout: 90_000, interval: 100 };

const HAPROXY_CONFIGURATION = resolve('test/patroni/haproxy.cfg');

/** As Patroni's REST API describes it. */
interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

/** Three nodes, and HAProxy before them. */
export class PatroniCluster {
  private constructor(
    private readonly folder: string,
    private readonly programs: Programs,
    readonly nodes: readonly Node[],
    private readonly haproxy: ChildProcess,
    /** Of the leader, through HAProxy. */
    readonly url: string,
  ) {}

  static async start(): Promise<PatroniCluster> {
    const programs = await findPrograms();
    const folder = await mkdtemp(join(await realpath(tmpdir()), 'plant-store-patroni-'));
    const nodes: Node[] = [];
    for (const name of ['a', 'b', 'c']) nodes.push(await Node.create(name, folder, programs));
    const port = await lastingPort();
    const haproxy = spawn(programs.haproxy, ['-db', '-f', HAPROXY_CONFIGURATION], {
      env: { PORT: String(port), ...portsOf(nodes) },
      stdio: 'ignore',
    });
    const cluster = new PatroniCluster(folder, programs, nodes, haproxy, urlAt(port));
    try {
      await cluster.repair();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** Starts again what has ended or is frozen, and waits until every node has its role. */
  async repair(): Promise<void> {
    for (const node of this.nodes) {
      node.signal('SIGCONT');
      await node.start(this.nodes);
    }
    await vi.waitFor(async () => {
      const members = await this.members();
      expect(members.map(({ role }) => role).toSorted()).toEqual([
        'leader',
        'replica',
        'sync_standby',
      ]);
      expect(members.map(({ state }) => state).toSorted()).toEqual([
        'running',
        'streaming',
        'streaming',
      ]);
      await this.query('SELECT 1');
    }, PATIENCE);
  }

  leader(): Promise<Node> {
    return this.nodeWithRole('leader');
  }

  synchronousStandby(): Promise<Node> {
    return this.nodeWithRole('sync_standby');
  }

  /** Waits until another node has the role. */
  async replaced(role: 'leader' | 'sync_standby', former: Node): Promise<void> {
    await vi.waitFor(async () => {
      const { name } = await this.nodeWithRole(role, former);
      expect(name).not.toBe(former.name);
    }, PATIENCE);
  }

  /** Waits until no node takes writes. */
  async leaderless(): Promise<void> {
    await vi.waitFor(async () => {
      for (const { restUrl } of this.nodes) {
        expect((await fetch(`${restUrl}/primary`)).status).toBe(503);
      }
    }, PATIENCE);
  }

  /** Lets another node become the leader, as an operator does. */
  async switchOver(): Promise<void> {
    const { configuration } = this.nodes[0]!;
    const command = ['-c', configuration, 'switchover', '--force', 'plant-store'];
    await promisify(execFile)(join(PATRONI, 'patronictl'), command, { timeout: 60_000 });
  }

  /** Changes the settings that all nodes share, and waits until they have them. */
  async configure(settings: object): Promise<void> {
    const { restUrl } = await this.leader();
    const changed = await fetch(`${restUrl}/config`, {
      method: 'PATCH',
      body: JSON.stringify(settings),
    });
    expect(changed.status).toBe(200);
    const since = Date.now() / 1_000;
    await vi.waitFor(async () => {
      for (const node of this.nodes) {
        const status = await rest<{ readonly dcs_last_seen: number }>(node, '/patroni');
        // The first second after it counts as before, because the number has no fraction.
        expect(status.dcs_last_seen).toBeGreaterThan(since + 1);
      }
    }, PATIENCE);
  }

  /** Runs one statement on a connection of its own to the leader. */
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

  /** Of the programs, in one line. */
  async versions(): Promise<string> {
    const { etcd, haproxy, postgres } = this.programs;
    const commands = [
      [join(postgres, 'postgres'), '--version'],
      [join(PATRONI, 'patroni'), '--version'],
      [etcd, '--version'],
      [haproxy, '-v'],
    ] as const;
    const outputs = await Promise.all(
      commands.map(([program, option]) => promisify(execFile)(program, [option])),
    );
    const lines = outputs.map(({ stdout }) => stdout.split('\n')[0]!.trim());
    return [...lines, `Node.js ${process.version}`].join('; ');
  }

  async stop(): Promise<void> {
    this.haproxy.kill('SIGKILL');
    // First, because Patroni starts a server that ends.
    for (const node of this.nodes) node.killPatroni();
    // Unlike SIGKILL, SIGQUIT lets PostgreSQL give its shared memory back.
    for (const signal of ['SIGCONT', 'SIGQUIT', 'SIGKILL'] as const) {
      for (const node of this.nodes) node.signal(signal);
      if (signal !== 'SIGCONT') await until(() => processesIn(this.folder).length === 0, 10_000);
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** @param unreachable a node that is not to be asked */
  private async nodeWithRole(role: string, unreachable?: Node): Promise<Node> {
    const members = await this.members(unreachable);
    const member = members.find((one) => one.role === role);
    const node = this.nodes.find(({ name }) => name === member?.name);
    if (node === undefined) throw new Error(`no ${role} in ${JSON.stringify(members)}`);
    return node;
  }

  private async members(unreachable?: Node): Promise<readonly Member[]> {
    const node = this.nodes.find((one) => one !== unreachable)!;
    return (await rest<{ readonly members: readonly Member[] }>(node, '/cluster')).members;
  }
}

async function rest<T>({ restUrl }: Node, path: string): Promise<T> {
  const response = await fetch(`${restUrl}${path}`, { signal: AbortSignal.timeout(5_000) });
  return (await response.json()) as T;
}

/** Variables of HAProxy's configuration. */
function portsOf(nodes: readonly Node[]): Record<string, string> {
  return Object.fromEntries(
    nodes.flatMap(({ name, ports }) => [
      [`${name.toUpperCase()}_POSTGRES`, String(ports.postgres)],
      [`${name.toUpperCase()}_REST`, String(ports.rest)],
    ]),
  );
}

async function findPrograms(): Promise<Programs> {
  const root = '/usr/lib/postgresql';
  const versions = await readdir(root).catch(() => []);
  const newest = versions.toSorted((one, other) => Number(other) - Number(one))[0] ?? '';
  const programs = {
    etcd: '/usr/bin/etcd',
    haproxy: '/usr/sbin/haproxy',
    postgres: join(root, newest, 'bin'),
  };
  const needed = [
    programs.etcd,
    programs.haproxy,
    join(programs.postgres, 'pg_rewind'),
    join(PATRONI, 'patroni'),
  ];
  const missing = needed.find((path) => !existsSync(path));
  if (missing === undefined) return programs;
  throw new Error(
    `${missing} is missing: install the Debian packages etcd-server, haproxy and postgresql, and run "npm run test:patroni", which installs Patroni.`,
  );
}
