import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { followEvents } from '../../packages/framework/test/support/event-source.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/** Of `docs/changes.md`, in milliseconds. */
const HEARTBEAT = 15_000;

/** Two read at once. */
const SLOW_READS = `
  DO $$ BEGIN
    IF to_regprocedure('quick()') IS NULL THEN
      ALTER FUNCTION plant_changes_pruned_to() RENAME TO quick;
    END IF;
  END $$;
  CREATE OR REPLACE FUNCTION plant_changes_pruned_to() RETURNS bigint LANGUAGE sql VOLATILE
    AS 'SELECT pg_sleep(3); SELECT quick()'`;

/** Reads that have begun before end well, too. */
const QUICK_READS = `
  CREATE OR REPLACE FUNCTION plant_changes_pruned_to() RETURNS bigint LANGUAGE sql VOLATILE
    AS 'SELECT quick()'`;

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

const AUTHORIZATION = { Authorization: `Bearer ${TOKEN}` };

/** The text of a stream of events that arrives first, and after how many milliseconds. */
async function firstText(query: string): Promise<{ text: string; after: number }> {
  const end = new AbortController();
  const { body } = await fetch(`${service.url}/changes${query}`, {
    headers: { ...AUTHORIZATION, Accept: 'text/event-stream' },
    signal: end.signal,
  });
  const begin = performance.now();
  const { value } = await body!.getReader().read();
  const after = performance.now() - begin;
  end.abort();
  return { text: new TextDecoder().decode(value), after };
}

describe('a follower', () => {
  it('gets a line with a colon, or the position up to which nothing is for it, after 15 s without an event', async () => {
    await service.post({ id: 1, name: 'a' });
    const { json } = await service.request('GET', '/changes/latest');
    const position = String(json['position']);
    const [quiet, selecting] = await Promise.all([
      firstText(`?after=${position}`),
      firstText('?plant=7'),
    ]);
    expect(quiet.text).toBe(':\n\n');
    expect(selecting.text).toBe(`id: ${position}\n\n`);
    for (const { after } of [quiet, selecting]) {
      expect(after).toBeGreaterThan(HEARTBEAT - 1_000);
      expect(after).toBeLessThan(HEARTBEAT + PATIENCE);
    }
  });

  it('keeps its stream while the reads of others leave it no turn', async () => {
    await service.database.query(`INSERT INTO plant_changes (kind, principal, request_id, id)
      SELECT 'removed', 'jwt:a', 'r', n FROM generate_series(1, 40) AS n`);
    await service.database.query(SLOW_READS);
    const streams = await Promise.all(
      Array.from({ length: 8 }, () => followEvents(`${service.url}/changes`, AUTHORIZATION)),
    );
    const ids = Array.from({ length: 40 }, (_, n) => n + 1);
    const taken = streams.map((stream) => stream.take(40));
    // A read takes longer than the others wait for their turn.
    await Promise.race(taken);
    await service.database.query(QUICK_READS);
    for (const events of await Promise.all(taken)) {
      expect(events.map(({ data }) => data['id'])).toEqual(ids);
    }
    for (const stream of streams) stream.close();
  });

  it('that misses little waits for none that are far behind, nor does an export', async () => {
    // Its own: a tail that still runs for the followers of another test would serve those that are far behind.
    const own = await startTestService();
    onTestFinished(() => own.stop());
    await own.database.query("INSERT INTO plants VALUES (1, 'a')");
    await own.database.query(`INSERT INTO plant_changes (kind, principal, request_id, id)
      SELECT 'removed', 'jwt:a', 'r', n FROM generate_series(1, 2000) AS n`);
    const newest = Number((await own.request('GET', '/changes/latest')).json['position']);
    await own.database.query(SLOW_READS);
    const follow = (query: string) => followEvents(`${own.url}/changes${query}`, AUTHORIZATION);
    const far = await Promise.all(Array.from({ length: 8 }, () => follow('')));
    const allServed = Promise.all(far.map((stream) => stream.take(1))).then(() => 'far');
    const near = await follow(`?after=${newest - 5}`);
    const nearServed = near.take(5).then((events) => events.map(({ data }) => data['id']));
    const exported = own.request('GET', '/plants/export').then(({ text }) => text);
    // Two of those that are far behind read at once, for three seconds.
    expect(await Promise.race([allServed, nearServed])).toEqual([
      1_996, 1_997, 1_998, 1_999, 2_000,
    ]);
    expect(await Promise.race([allServed, exported])).toBe('{"id":1,"name":"a"}\n\n');
    await allServed;
    for (const stream of [...far, near]) stream.close();
    await own.database.query(QUICK_READS);
  }, 30_000);

  it('has a share of the places, and leaves the others to other principals', async () => {
    const previous = 'another-token-of-at-least-thirty-two-characters';
    const other = await startTestService({ environment: { AUTH_TOKEN_PREVIOUS: previous } });
    const follow = (headers: Readonly<Record<string, string>>) =>
      followEvents(`${other.url}/changes`, headers);
    const streams = await Promise.all(Array.from({ length: 1_000 }, () => follow(AUTHORIZATION)));
    try {
      expect(streams.filter(({ response }) => response.status !== 200)).toEqual([]);
      const refused = await other.request('GET', '/changes', {
        headers: { Accept: 'text/event-stream' },
      });
      expect(refused).toMatchObject({ status: 429, json: { error: 42905 } });
      expect(refused.headers.get('Retry-After')).toBe('1');
      streams.push(await follow({ Authorization: `Bearer ${previous}` }));
      expect(streams.at(-1)!.response.status).toBe(200);
      streams[0]!.close();
      await expect
        .poll(async () => {
          const stream = await follow(AUTHORIZATION);
          streams.push(stream);
          return stream.response.status;
        })
        .toBe(200);
    } finally {
      for (const stream of streams) stream.close();
      await other.stop();
    }
  });
});
