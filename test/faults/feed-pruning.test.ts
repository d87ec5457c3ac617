import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { it } from '../support/deployment.js';
import { Follower, Pager, recordsIn, untilRead } from '../support/feed.js';
import { OpenWriters } from '../support/open-writers.js';
import { until } from '../support/process.js';
import { Rivals } from '../support/rivals.js';

/** Milliseconds for which this test keeps records, beyond the shortest retention. */
const RETENTION = 1_000;

const A_DAY_OLD = `ALTER TABLE plant_changes ALTER time SET DEFAULT now() - interval '24 hours'`;

/** Records as they were before they were removed, in the order of their positions. */
const KEEP_PRUNED = `CREATE TABLE pruned AS SELECT * FROM plant_changes WITH NO DATA;
  CREATE FUNCTION keep_pruned() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO public.pruned SELECT OLD.*; RETURN NULL; END';
  CREATE TRIGGER keep_pruned AFTER DELETE ON plant_changes FOR EACH ROW EXECUTE FUNCTION keep_pruned()`;

it('readers beside pruning see all changes up to where they are told that some are gone', async ({
  postgres,
  replica: { url },
  readers,
}) => {
  await postgres.query(KEEP_PRUNED);
  await postgres.query(A_DAY_OLD);
  const rivals = new Rivals([url]);
  const open = new OpenWriters(() => postgres.url);
  let pruned = 0;
  const end = new AbortController();
  const pruning = (async () => {
    while (!end.signal.aborted) {
      const [row] = await postgres.query(
        `SELECT prune_plant_changes(now() - interval '24 hours ${RETENTION} ms', 100) AS count`,
      );
      pruned += Number(row?.['count']);
      await sleep(20);
    }
  })();
  const later = (async () => {
    while (!end.signal.aborted) {
      // Some read as fast as there are changes, some are overtaken.
      readers.push(new Follower({ urls: [url] }), new Pager({ urls: [url] }));
      readers.push(new Follower({ urls: [url], pause: 2 }));
      readers.push(new Pager({ urls: [url], pause: 20, limit: 1 }));
      await sleep(1_000);
    }
  })();
  await rivals.served(2_000);
  const isOvertaken = () => pruned > 500 && readers.some(({ isGone }) => isGone);
  expect(await until(isOvertaken, 60_000)).toBe(true);
  await Promise.all([open.stop(), rivals.stop()]);
  end.abort();
  await Promise.all([pruning, later]);

  const left = await recordsIn(postgres.url);
  const stored = [...(await recordsIn(postgres.url, 'pruned')), ...left];
  const newest = stored.at(-1)!.position;
  await untilRead(readers, newest);
  await Promise.all(readers.map((reader) => reader.stop()));
  for (const { seen, isGone, refusals, position } of readers) {
    expect(refusals.every((refusal) => refusal.startsWith('410'))).toBe(true);
    // Who begins with the oldest record is not told that older ones are gone.
    expect(isGone && seen.length === 0).toBe(false);
    const first = stored.findIndex((record) => record.position === seen[0]?.position);
    expect(seen).toEqual(seen.length === 0 ? [] : stored.slice(first, first + seen.length));
    if (!isGone) expect(position).toBe(newest);
  }
  expect(readers.some(({ isGone }) => !isGone)).toBe(true);
});
