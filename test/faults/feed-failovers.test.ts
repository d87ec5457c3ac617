import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TOKEN } from '../support/crowd.js';
import { DebianPostgres, HAS_DEBIAN_POSTGRES } from '../support/debian-postgres.js';
import { FaultyLink } from '../support/faulty-link.js';
import { Follower, Pager, recordsIn, untilRead } from '../support/feed.js';
import type { FeedReader } from '../support/feed.js';
import { RECORDED_CREATE } from '../support/open-writers.js';
import { connect } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';
import { Replica } from '../support/replica.js';
import { startReplicatedPostgres } from '../support/replicated-postgres.js';
import type { ReplicatedPostgres, ReplicatedServer } from '../support/replicated-postgres.js';

let workspace: Workspace;
let readers: FeedReader[];
let lastId: number;

beforeEach(async () => {
  readers = [];
  lastId = 0;
  workspace = await Workspace.create();
});

afterEach(async () => {
  await Promise.all(readers.map((reader) => reader.stop()));
  await workspace.remove();
});

describe('a reader that has seen what asynchronous replication loses', () => {
  let postgres: ReplicatedPostgres;
  let address: FaultyLink;
  let replica: Replica;
  let links: FaultyLink[];

  beforeEach(async () => {
    postgres = await startReplicatedPostgres();
    address = await FaultyLink.to(postgres.primary.url);
    links = [address];
    replica = await Replica.start(workspace, { DATABASE_URL: address.url });
    readers = [new Follower({ urls: [replica.url] }), new Pager({ urls: [replica.url] })];
  });

  afterEach(async () => {
    for (const link of links) await link.close();
    await postgres.stop();
  });

  /** Starts the standby again, behind a link that can be cut. */
  async function followThroughLink(
    standby: ReplicatedServer,
    primary: ReplicatedServer,
  ): Promise<FaultyLink> {
    const link = await FaultyLink.to(primary.url);
    links.push(link);
    await standby.stop();
    await standby.startAsStandbyOf(link);
    return link;
  }

  /** Creates plants that only this server has, and lets all readers see them, and kills the server. */
  async function createReadAndLose(server: ReplicatedServer, count: number): Promise<void> {
    await create(replica, count);
    await untilAllIsRead(server.url);
    server.signal('SIGKILL');
  }

  async function promote(server: ReplicatedServer): Promise<void> {
    await server.promote();
    address.leadTo(server.url);
  }

  it('misses nothing after two failovers in a row, of standbys that were never restarted', async () => {
    const { primary, standby, spare } = postgres;
    const link = await followThroughLink(spare, standby);
    await create(replica, 50);
    await spare.catchUpWith(primary);
    primary.signal('SIGKILL');
    await promote(standby);
    await create(replica, 20);
    await spare.catchUpWith(standby);
    link.poison({ kind: 'down' });
    await createReadAndLose(standby, 100);
    await promote(spare);
    await create(replica, 50);
    await expectNoGap(spare.url, 120);
  });

  it('misses nothing after a failover from a primary that was restarted before', async () => {
    const { primary, standby } = postgres;
    const link = await followThroughLink(standby, primary);
    await primary.stop();
    await primary.startAsPrimary();
    await create(replica, 50);
    await standby.catchUpWith(primary);
    link.poison({ kind: 'down' });
    await createReadAndLose(primary, 100);
    await promote(standby);
    await create(replica, 50);
    await expectNoGap(standby.url, 100);
  });

  it('misses nothing if the standby lacks the very first changes', async () => {
    const { primary, standby } = postgres;
    const link = await followThroughLink(standby, primary);
    await standby.catchUpWith(primary);
    link.poison({ kind: 'down' });
    await createReadAndLose(primary, 100);
    await promote(standby);
    await create(replica, 50);
    await expectNoGap(standby.url, 50);
  });

  it('misses nothing, however often the servers take turns', async () => {
    let [primary, standby] = [postgres.primary, postgres.standby];
    for (let turn = 1; turn <= 3; turn += 1) {
      await create(replica, 20);
      await standby.catchUpWith(primary);
      const link = await followThroughLink(standby, primary);
      await create(replica, 10);
      await standby.catchUpWith(primary);
      link.poison({ kind: 'down' });
      await createReadAndLose(primary, 40);
      await promote(standby);
      await create(replica, 20);
      await untilAllIsRead(standby.url);
      await primary.startAsCopyOf(standby);
      [primary, standby] = [standby, primary];
    }
    await expectNoGap(primary.url, 150);
  });

  it('misses nothing of a session that has outlived the promotion of its server', async () => {
    const { primary, standby } = postgres;
    const link = await followThroughLink(standby, primary);
    const session = await connect(standby.url);
    try {
      await expect(recordedCreate(session)).rejects.toThrow(/read-only/);
      await primary.stop();
      await primary.startAsPrimary();
      await create(replica, 20);
      await standby.catchUpWith(primary);
      link.poison({ kind: 'down' });
      await createReadAndLose(primary, 20);
      await promote(standby);
      await recordedCreate(session);
      await create(replica, 20);
      await expectNoGap(standby.url, 41);
    } finally {
      await session.end();
    }
  });
});

describe.skipIf(!HAS_DEBIAN_POSTGRES)('a reader that has seen more than a dump has', () => {
  it('misses nothing after the dump is restored in a twin of the server, with equal object ids', async () => {
    const servers: DebianPostgres[] = [];
    try {
      for (let n = 0; n < 3; n += 1) servers.push(await DebianPostgres.start());
      const [origin, server, twin] = servers as [DebianPostgres, DebianPostgres, DebianPostgres];
      const dump = async (from: DebianPostgres, to: DebianPostgres): Promise<void> => {
        await from.dump(workspace.path('plants.dump'));
        await to.restore(workspace.path('plants.dump'));
      };
      await create(await Replica.start(workspace, { DATABASE_URL: origin.url() }), 20);
      await dump(origin, server);
      const replica = await Replica.start(workspace, { DATABASE_URL: server.url() });
      await create(replica, 20);
      await dump(server, twin);
      await create(replica, 60);
      const reader = new Pager({ urls: [replica.url] });
      readers = [reader];
      await untilAllIsRead(server.url());
      await reader.stop();
      const other = await Replica.start(workspace, { DATABASE_URL: twin.url() });
      readers = [new Follower({ urls: [other.url], after: reader.position })];
      await create(other, 40);
      await untilAllIsRead(twin.url());
      const stored = await recordsIn(twin.url());
      expect(stored).toHaveLength(80);
      expect(readers[0]!.seen.map(({ line }) => line)).toEqual(
        stored.slice(40).map(({ line }) => line),
      );
    } finally {
      await Promise.all(readers.map((reader) => reader.stop()));
      for (const server of servers) await server.stop();
    }
  });
});

/** Creates plants one after the other, each as soon as it can be created. */
async function create({ url }: Replica, count: number): Promise<void> {
  for (const end = lastId + count; lastId < end;) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ id: lastId + 1, name: 'created' }),
    });
    await response.text();
    if (response.status === 200) lastId += 1;
    else {
      expect(response.status).toBe(503);
      await sleep(20);
    }
  }
}

async function recordedCreate(session: Client): Promise<void> {
  lastId += 1;
  await session.query(RECORDED_CREATE, [lastId]);
}

async function untilAllIsRead(databaseUrl: string): Promise<void> {
  const newest = (await recordsIn(databaseUrl)).at(-1)!.position;
  await untilRead(readers, newest);
}

/** Each reader has seen all that is stored in the end, or was told that it must begin anew. */
async function expectNoGap(databaseUrl: string, count: number): Promise<void> {
  await untilAllIsRead(databaseUrl);
  const stored = await recordsIn(databaseUrl);
  expect(stored).toHaveLength(count);
  for (const { seen, isGone } of readers) {
    if (isGone) continue;
    const lines = new Set(seen.map(({ line }) => line));
    expect(stored.filter(({ line }) => !lines.has(line))).toEqual([]);
  }
}
