import type { Client } from 'pg';
import { beforeEach, describe, expect } from 'vitest';
import { DebianPostgres, HAS_DEBIAN_POSTGRES } from '../support/debian-postgres.js';
import { it as itWithServers, itOnCluster } from '../support/deployment.js';
import { FaultyLink } from '../support/faulty-link.js';
import { Follower, Pager, recordsIn, untilRead } from '../support/feed.js';
import type { FeedReader } from '../support/feed.js';
import { RECORDED_CREATE } from '../support/open-writers.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { until } from '../support/process.js';
import { Replica } from '../support/replica.js';
import type { ReplicatedServer } from '../support/replicated-postgres.js';

let lastId: number;
let readers: FeedReader[];

beforeEach(() => {
  lastId = 0;
});

const it = itOnCluster.extend<{ readonly links: FaultyLink[] }>({
  // oxlint-disable-next-line no-empty-pattern -- Vitest reads from the pattern which other fixtures this one needs.
  links: async ({}, use) => {
    const links: FaultyLink[] = [];
    await use(links);
    for (const link of links) await link.close();
  },
});

describe('a reader that has seen what asynchronous replication loses', () => {
  let address: FaultyLink;
  let replica: Replica;
  let links: FaultyLink[];

  it.beforeEach(({ address: link, replica: one, links: more, readers: all }) => {
    [address, replica, links, readers] = [link, one, more, all];
    const urls = [replica.url];
    readers.push(new Follower({ urls }), new Pager({ urls }));
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

  it('misses nothing after two failovers in a row, of standbys that were never restarted', async ({
    cluster,
  }) => {
    const { primary, standby, spare } = cluster;
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

  it('misses nothing after a failover from a primary that was restarted before', async ({
    cluster,
  }) => {
    const { primary, standby } = cluster;
    const link = await followThroughLink(standby, primary);
    await primary.stop();
    await primary.start();
    await create(replica, 50);
    await standby.catchUpWith(primary);
    link.poison({ kind: 'down' });
    await createReadAndLose(primary, 100);
    await promote(standby);
    await create(replica, 50);
    await expectNoGap(standby.url, 100);
  });

  it('misses nothing if the standby lacks the very first changes', async ({ cluster }) => {
    const { primary, standby } = cluster;
    const link = await followThroughLink(standby, primary);
    await standby.catchUpWith(primary);
    link.poison({ kind: 'down' });
    await createReadAndLose(primary, 100);
    await promote(standby);
    await create(replica, 50);
    await expectNoGap(standby.url, 50);
  });

  it('misses nothing, however often the servers take turns', async ({ cluster }) => {
    let { primary, standby } = cluster;
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

  it('begins anew after two failovers from one base, of standbys that had not followed one another', async ({
    cluster,
  }) => {
    const { primary, standby, spare } = cluster;
    const [link, other] = [
      await followThroughLink(standby, primary),
      await followThroughLink(spare, primary),
    ];
    await primary.restart();
    await create(replica, 50);
    await standby.catchUpWith(primary);
    await spare.catchUpWith(primary);
    for (const one of [link, other]) one.poison({ kind: 'down' });
    await untilAllIsRead(primary.url);
    primary.signal('SIGKILL');
    await promote(standby);
    await createReadAndLose(standby, 100);
    await promote(spare);
    await create(replica, 150);
    await expectAnew(spare.url, 200);
  });

  it('begins anew after a failback to a server that was started a moment ago', async ({
    cluster,
  }) => {
    const { primary, standby } = cluster;
    const link = await followThroughLink(standby, primary);
    await primary.restart();
    await create(replica, 50);
    await standby.catchUpWith(primary);
    link.poison({ kind: 'down' });
    await create(replica, 20);
    await untilAllIsRead(primary.url);
    primary.signal('SIGKILL');
    await promote(standby);
    await createReadAndLose(standby, 100);
    await primary.start();
    address.leadTo(primary.url);
    await create(replica, 150);
    await expectAnew(primary.url, 220);
  });

  it('misses nothing, and goes on, after many clean restarts in a row', async ({ cluster }) => {
    const { primary } = cluster;
    for (let turn = 1; turn <= 5; turn += 1) {
      await primary.restart();
      await create(replica, 10);
    }
    await expectNoGap(primary.url, 50);
  });

  it('misses nothing of a session that has outlived the promotion of its server', async ({
    cluster,
  }) => {
    const { primary, standby } = cluster;
    const link = await followThroughLink(standby, primary);
    const session = await standby.connect();
    try {
      await expect(recordedCreate(session)).rejects.toThrow(/read-only/);
      await primary.stop();
      await primary.start();
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
  itWithServers(
    'begins anew after a second restore of the dump, into another server',
    async ({ workspace, readers: all }) => {
      readers = all;
      const servers: DebianPostgres[] = [];
      try {
        for (let n = 0; n < 3; n += 1) servers.push(await DebianPostgres.start());
        const [origin, first, second] = servers as [DebianPostgres, DebianPostgres, DebianPostgres];
        const file = workspace.path('plants.dump');
        const serve = ({ url }: DebianPostgres) => Replica.start(workspace, { DATABASE_URL: url });
        const before = await serve(origin);
        await create(before, 10);
        // The server is another one for readers from now on.
        await origin.dump(file);
        await origin.restoreInPlace(file);
        await create(before, 10);
        await origin.dump(file);
        for (const server of [first, second]) await server.restore(file);
        const [one, other] = [await serve(first), await serve(second)];
        const reader = new Pager({ urls: [one.url] });
        readers.push(reader);
        await create(one, 100);
        await untilAllIsRead(first.url);
        await reader.stop();
        readers.splice(0, 1);
        for (const Reader of [Follower, Pager]) {
          readers.push(new Reader({ urls: [other.url], after: reader.position }));
        }
        await create(other, 150);
        await expectAnew(second.url, 170);
      } finally {
        await Promise.all(readers.map((one) => one.stop()));
        for (const server of servers) await server.stop();
      }
    },
  );

  itWithServers(
    'misses nothing after the dump is restored in a twin of the server, with equal object ids',
    async ({ workspace, readers: all }) => {
      readers = all;
      const servers: DebianPostgres[] = [];
      try {
        for (let n = 0; n < 3; n += 1) servers.push(await DebianPostgres.start());
        const [origin, server, twin] = servers as [DebianPostgres, DebianPostgres, DebianPostgres];
        const serve = ({ url }: DebianPostgres) => Replica.start(workspace, { DATABASE_URL: url });
        const dump = async (from: DebianPostgres, to: DebianPostgres): Promise<void> => {
          await from.dump(workspace.path('plants.dump'));
          await to.restore(workspace.path('plants.dump'));
        };
        await create(await serve(origin), 20);
        await dump(origin, server);
        const replica = await serve(server);
        await create(replica, 20);
        await dump(server, twin);
        await create(replica, 60);
        const reader = new Pager({ urls: [replica.url] });
        readers.push(reader);
        await untilAllIsRead(server.url);
        await reader.stop();
        const other = await serve(twin);
        const next = new Follower({ urls: [other.url], after: reader.position });
        readers.splice(0, 1, next);
        await create(other, 40);
        await untilAllIsRead(twin.url);
        const stored = await recordsIn(twin.url);
        expect(stored).toHaveLength(80);
        expect(next.seen.map(({ line }) => line)).toEqual(stored.slice(40).map(({ line }) => line));
      } finally {
        await Promise.all(readers.map((one) => one.stop()));
        for (const server of servers) await server.stop();
      }
    },
  );
});

/** Creates plants one after the other, each as soon as it can be created. */
async function create(replica: Replica, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await replica.create((lastId += 1));
}

async function recordedCreate(session: Client): Promise<void> {
  lastId += 1;
  await session.query(RECORDED_CREATE, [lastId]);
}

async function untilAllIsRead(databaseUrl: string): Promise<void> {
  const newest = (await recordsIn(databaseUrl)).at(-1)!.position;
  await untilRead(readers, newest);
}

/** Each reader has seen all that is stored in the end. */
async function expectNoGap(databaseUrl: string, count: number): Promise<void> {
  await untilAllIsRead(databaseUrl);
  const stored = await recordsIn(databaseUrl);
  expect(stored).toHaveLength(count);
  for (const { seen, refusals } of readers) {
    expect(refusals).toEqual([]);
    const lines = new Set(seen.map(({ line }) => line));
    expect(stored.filter(({ line }) => !lines.has(line))).toEqual([]);
  }
}

/** Each reader is told that it must begin anew: it could not get all that is stored. */
async function expectAnew(databaseUrl: string, count: number): Promise<void> {
  expect(await recordsIn(databaseUrl)).toHaveLength(count);
  // A reader's position says nothing here: the lost server may have given greater positions than this one ever does.
  await until(() => readers.every(({ isGone }) => isGone), PATIENCE);
  const refused = expect.stringMatching(/^410 .*"error":41000/);
  expect(readers.map(({ refusals }) => refusals)).toEqual(readers.map(() => [refused]));
}
