import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DebianPostgres, HAS_DEBIAN_POSTGRES } from '../support/debian-postgres.js';
import {
  differences,
  expectFeedReckoning,
  Follower,
  Pager,
  recordsIn,
  untilRead,
} from '../support/feed.js';
import type { FeedReader } from '../support/feed.js';
import { Workspace } from '../support/process.js';
import { Replica } from '../support/replica.js';
import { Rivals } from '../support/rivals.js';

let workspace: Workspace;
let servers: DebianPostgres[];
let readers: FeedReader[];
let replica: Replica;
let file: string;

beforeEach(async () => {
  readers = [];
  [workspace, ...servers] = await Promise.all([Workspace.create(), DebianPostgres.start()]);
  replica = await Replica.start(workspace, { DATABASE_URL: servers[0]!.url() });
  file = workspace.path('plants.dump');
});

afterEach(async () => {
  await Promise.all(readers.map((reader) => reader.stop()));
  await workspace.remove();
  for (const server of servers) await server.stop();
});

describe.skipIf(!HAS_DEBIAN_POSTGRES)('a reader that has seen more than a dump has', () => {
  it('misses no change of another server into which the dump is restored', async () => {
    const seen = await dumpWhileWriting();
    const other = await DebianPostgres.start();
    servers.push(other);
    await other.restore(file);
    const dumped = await recordsIn(other.url());
    const next = await Replica.start(workspace, { DATABASE_URL: other.url() });
    await expectAllThatIsNew(next, other.url(), dumped.length, seen);
  });

  it('misses no change after the dump is restored in place, while it follows', async () => {
    const seen = await dumpWhileWriting();
    const [server] = servers as [DebianPostgres];
    const staying = new Follower({ urls: [replica.url], after: seen });
    readers.push(staying);
    await server.restore(file, '--clean', '--if-exists');
    const dumped = await recordsIn(server.url());
    // Of what the follower that stays had read, it gets nothing.
    readers.push(new Follower({ urls: [replica.url], after: dumped.at(-1)!.position }));
    await expectAllThatIsNew(replica, server.url(), dumped.length, seen);
    expect(staying.seen.length).toBeGreaterThan(100);
  });

  it('misses no change after the same dump is restored in place twice', async () => {
    let newest = await dumpWhileWriting();
    const [server] = servers as [DebianPostgres];
    for (const _ of ['once', 'twice']) {
      await server.restore(file, '--clean', '--if-exists');
      const dumped = await recordsIn(server.url());
      const rivals = new Rivals([replica.url]);
      await rivals.served(200);
      await rivals.stop();
      const added = (await recordsIn(server.url())).slice(dumped.length);
      expect(added.length).toBeGreaterThan(20);
      expect(added.filter(({ position }) => position <= newest)).toEqual([]);
      newest = added.at(-1)!.position;
    }
  });
});

/** @returns the last position that a reader has seen, beyond what is in the dump */
async function dumpWhileWriting(): Promise<bigint> {
  const [server] = servers as [DebianPostgres];
  const rivals = new Rivals([replica.url]);
  await rivals.served(800);
  const dump = server.dump(file);
  await rivals.served(800);
  await dump;
  await rivals.served(200);
  await rivals.stop();
  const stored = await recordsIn(server.url());
  const newest = stored.at(-1)!.position;
  const reader = new Follower({ urls: [replica.url] });
  await untilRead([reader], newest);
  await reader.stop();
  expect(differences(reader.seen, stored)).toEqual([]);
  return newest;
}

async function expectAllThatIsNew(
  { url }: Replica,
  databaseUrl: string,
  dumped: number,
  after: bigint,
): Promise<void> {
  readers.push(new Follower({ urls: [url], after }), new Pager({ urls: [url], after }));
  const rivals = new Rivals([url]);
  await rivals.served(800);
  await rivals.stop();
  await expectFeedReckoning(databaseUrl, readers);
  // None of the new positions is one that was given before.
  const stored = await recordsIn(databaseUrl);
  for (const { seen } of readers) expect(seen).toHaveLength(stored.length - dumped);
}
