import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PATIENCE } from '../support/patience.js';
import { TOKEN } from '../support/crowd.js';
import { FaultyLink } from '../support/faulty-link.js';
import { expectFeedReckoning, Follower, Pager, recordsIn, untilRead } from '../support/feed.js';
import type { FeedReader } from '../support/feed.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';
import { Replica } from '../support/replica.js';
import { startReplicatedPostgres } from '../support/replicated-postgres.js';
import type { ReplicatedPostgres } from '../support/replicated-postgres.js';
import { Rivals } from '../support/rivals.js';

let workspace: Workspace;
let readers: FeedReader[];
let replicas: Replica[];

beforeEach(async () => {
  readers = [];
  workspace = await Workspace.create();
});

afterEach(async () => {
  await Promise.all(readers.map((reader) => reader.stop()));
  await workspace.remove();
});

async function startReplicas(databaseUrl: string): Promise<readonly string[]> {
  replicas = await Promise.all(
    [1, 2].map(() => Replica.start(workspace, { DATABASE_URL: databaseUrl })),
  );
  return replicas.map(({ url }) => url);
}

function read(urls: readonly string[]): void {
  for (const order of [urls, urls.toReversed()]) {
    readers.push(new Follower({ urls: order }), new Pager({ urls: order }));
  }
}

describe('a rolling update', () => {
  let postgres: OwnPostgres;

  beforeEach(async () => {
    postgres = await OwnPostgres.start();
  });

  afterEach(() => postgres.stop());

  it('ends streams in good order, and their followers continue elsewhere', async () => {
    const urls = await startReplicas(postgres.url);
    read(urls);
    const rivals = new Rivals(urls);
    for (let round = 1; round <= 2; round += 1) {
      for (const replica of replicas) {
        await rivals.served(400);
        expect(await replica.terminate()).toEqual({ code: 0, signal: null });
        await rivals.served(400);
        await replica.startAgain();
      }
    }
    await rivals.served(400);
    await rivals.stop();
    await expectFeedReckoning(postgres.url, readers);
    const followers = readers.filter((reader) => reader instanceof Follower);
    for (const { ends, cuts } of followers) {
      expect(ends).toBeGreaterThan(0);
      expect(cuts).toBe(0);
    }
    for (const { service } of replicas) expect(service.stderr).toBe('');
  });
});

describe('a failover to the standby', () => {
  let postgres: ReplicatedPostgres;
  let address: FaultyLink;

  afterEach(async () => {
    await address.close();
    await postgres.stop();
  });

  it('with synchronous replication hides no change from readers, and repeats none', async () => {
    postgres = await startReplicatedPostgres({ synchronous_standby_names: '*' });
    const { primary, standby } = postgres;
    address = await FaultyLink.to(primary.url);
    const urls = await startReplicas(address.url);
    read(urls);
    const rivals = new Rivals(urls);
    await rivals.served(800);
    primary.signal('SIGKILL');
    await standby.promote();
    address.leadTo(standby.url);
    await rivals.served(800);
    await rivals.stop();
    await expectFeedReckoning(standby.url, readers);
  });

  it('that lacks changes, gives their positions to no new ones', async () => {
    postgres = await startReplicatedPostgres();
    const { primary, standby } = postgres;
    address = await FaultyLink.to(primary.url);
    const urls = await startReplicas(address.url);
    await create(1, 20);
    const [{ lsn }] = (await primary.query('SELECT pg_current_wal_lsn() AS lsn')) as [
      { lsn: string },
    ];
    await expect
      .poll(() => standby.query(`SELECT pg_last_wal_replay_lsn() >= '${lsn}' AS whole`), {
        timeout: PATIENCE,
      })
      .toEqual([{ whole: true }]);
    await standby.stop();
    await create(21, 40);
    read(urls);
    const lost = (await recordsIn(primary.url)).at(-1)!.position;
    await untilRead(readers, lost);
    expect(readers.every(({ position }) => position === lost)).toBe(true);
    primary.signal('SIGKILL');
    await standby.startAsStandbyOf(primary);
    await standby.promote();
    address.leadTo(standby.url);
    await create(41, 60);
    const stored = await recordsIn(standby.url);
    expect(stored).toHaveLength(40);
    await untilRead(readers, stored.at(-1)!.position);
    for (const { seen, refusals } of readers) {
      expect(refusals).toEqual([]);
      expect(seen.slice(40)).toEqual(stored.slice(20));
    }
    expect(stored[20]!.position).toBeGreaterThan(lost);
  });
});

/** Creates plants with these ids, each as soon as it can be created. */
async function create(first: number, last: number): Promise<void> {
  for (let id = first; id <= last;) {
    const response = await fetch(replicas[id % 2]!.url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ id, name: 'created' }),
    });
    await response.text();
    if (response.status === 200) id += 1;
    else expect(response.status).toBe(503);
  }
}
