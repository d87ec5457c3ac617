import { describe, expect } from 'vitest';
import { DebianPostgres, HAS_DEBIAN_POSTGRES } from '../support/debian-postgres.js';
import { it as base } from '../support/deployment.js';
import {
  differences,
  expectFeedReckoning,
  Follower,
  recordsIn,
  untilRead,
  Pager,
} from '../support/feed.js';
import type { FeedReader } from '../support/feed.js';
import type { Replica } from '../support/replica.js';
import { Rivals } from '../support/rivals.js';

interface Servers {
  readonly server: DebianPostgres;
  readonly other: DebianPostgres;
  readonly databaseUrl: string;
}

const it = base.extend<Servers>({
  server: startDebianPostgres,
  other: startDebianPostgres,
  databaseUrl: ({ server }, use) => use(server.url),
});

let server: DebianPostgres;
let replica: Replica;
let readers: FeedReader[];
let file: string;

it.beforeEach(({ workspace, server: its, replica: one, readers: all }) => {
  [server, replica, readers] = [its, one, all];
  file = workspace.path('plants.dump');
});

describe.skipIf(!HAS_DEBIAN_POSTGRES)('a reader that has seen more than a dump has', () => {
  it('misses no change of another server into which the dump is restored', async ({
    start,
    other,
  }) => {
    const seen = await dumpWhileWriting();
    await other.restore(file);
    const dumped = await recordsIn(other.url);
    const next = await start({ DATABASE_URL: other.url });
    await expectAllThatIsNew(next, other.url, dumped.length, seen);
  });

  it('misses no change after the dump is restored in place, while it follows', async () => {
    const seen = await dumpWhileWriting();
    const staying = new Follower({ urls: [replica.url], after: seen });
    readers.push(staying);
    await server.restoreInPlace(file);
    const dumped = await recordsIn(server.url);
    // Of what the follower that stays had read, it gets nothing.
    readers.push(new Follower({ urls: [replica.url], after: dumped.at(-1)!.position }));
    await expectAllThatIsNew(replica, server.url, dumped.length, seen);
    expect(staying.seen.length).toBeGreaterThan(100);
  });

  it('misses no change after the same dump is restored in place twice', async () => {
    let newest = await dumpWhileWriting();
    const given = new Set((await recordsIn(server.url)).map(({ position }) => position));
    for (const _ of ['once', 'twice']) {
      await server.restoreInPlace(file);
      const dumped = await recordsIn(server.url);
      const rivals = new Rivals([replica.url]);
      await rivals.served(200);
      await rivals.stop();
      const added = (await recordsIn(server.url)).slice(dumped.length);
      expect(added.length).toBeGreaterThan(20);
      expect(added.filter(({ position }) => given.has(position))).toEqual([]);
      // The second restore knows nothing of the positions after the first.
      const answer = await replica.send('GET', `/changes?limit=1000&after=${newest}`);
      const { length } = (await answer.json()) as { readonly length?: number };
      expect([200, 410]).toContain(answer.status);
      if (answer.status === 200) expect(length).toBe(added.length);
      for (const { position } of added) given.add(position);
      newest = added.at(-1)!.position;
    }
  });
});

/** @returns the last position that a reader has seen, beyond what is in the dump */
async function dumpWhileWriting(): Promise<bigint> {
  const rivals = new Rivals([replica.url]);
  await rivals.served(800);
  const dump = server.dump(file);
  await rivals.served(800);
  await dump;
  await rivals.served(200);
  await rivals.stop();
  const stored = await recordsIn(server.url);
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

// oxlint-disable-next-line no-empty-pattern -- Vitest reads from the pattern which other fixtures this one needs.
async function startDebianPostgres({}, use: (server: DebianPostgres) => Promise<void>) {
  const started = await DebianPostgres.start();
  await use(started);
  await started.stop();
}
