import { describe, expect } from 'vitest';
import { it, itOnCluster, itOnSynchronousCluster, readersOf } from '../support/deployment.js';
import { expectFeedReckoning, Follower, recordsIn, untilRead } from '../support/feed.js';
import type { Replica } from '../support/replica.js';
import { Rivals } from '../support/rivals.js';

const urlsOf = (replicas: readonly Replica[]) => replicas.map(({ url }) => url);

describe('a rolling update', () => {
  it('ends streams in good order, and their followers continue elsewhere', async ({
    postgres,
    replicas,
    readers,
  }) => {
    readers.push(...readersOf(urlsOf(replicas)));
    const rivals = new Rivals(urlsOf(replicas));
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
  itOnSynchronousCluster(
    'with synchronous replication hides no change from readers, and repeats none',
    async ({ cluster: { primary, standby }, address, replicas, readers }) => {
      readers.push(...readersOf(urlsOf(replicas)));
      const rivals = new Rivals(urlsOf(replicas));
      await rivals.served(800);
      primary.signal('SIGKILL');
      await standby.promote();
      address.leadTo(standby.url);
      await rivals.served(800);
      await rivals.stop();
      await expectFeedReckoning(standby.url, readers);
    },
  );

  itOnCluster(
    'that lacks changes, gives their positions to no new ones',
    async ({ cluster: { primary, standby }, address, replicas, readers }) => {
      /** Creates plants with these ids, each as soon as it can be created. */
      const create = async (first: number, last: number) => {
        for (let id = first; id <= last; id += 1) await replicas[id % 2]!.create(id);
      };
      await create(1, 20);
      await standby.catchUpWith(primary);
      await standby.stop();
      await create(21, 40);
      readers.push(...readersOf(urlsOf(replicas)));
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
    },
  );
});
