import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { followEvents } from '../../packages/framework/test/support/event-source.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { PRUNE_ALL } from '../support/prune.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

const BY_SQL = "UPDATE plants SET tag = 'wet'";

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

const read = (query: string) => service.request('GET', `/changes?${query}`);

async function idsOf(query: string): Promise<readonly unknown[]> {
  const { status, json } = await read(query);
  expect(status).toBe(200);
  return (json as unknown as readonly { readonly id: number }[]).map(({ id }) => id);
}

async function latest(): Promise<number> {
  return Number((await service.request('GET', '/changes/latest')).json['position']);
}

async function create(...ids: readonly number[]): Promise<void> {
  for (const id of ids) expect((await service.post({ id, name: 'a' })).status).toBe(200);
}

/** The position that the error names to a reader after this one. */
async function gapAfter(position: number, query = ''): Promise<string> {
  const { status, json } = await read(`after=${position}${query}`);
  expect({ status, json }).toMatchObject({ status: 410, json: { error: 41000 } });
  const text = /^a change up to position (\d+) was made without a record.* acceptGap=\1$/;
  return text.exec(String(json['message']))?.[1] ?? `none in ${String(json['message'])}`;
}

/** Changes plants 1 and 2, and 3 after a gap. Returns the position of the first change, and what a reader accepts. */
async function makeGap(): Promise<{ readonly first: number; readonly gap: string }> {
  await create(1);
  const first = await latest();
  await create(2);
  await service.database.query(BY_SQL);
  await create(3);
  return { first, gap: await gapAfter(first) };
}

describe('a change without a record', () => {
  const reports = () => service.log.filter(({ event }) => event === 'unrecorded-change');
  const count = async (): Promise<number> => {
    const metrics = await (await fetch(`${service.managementUrl}/metrics`)).text();
    return Number(
      /^plant_store_changes_unrecorded_total\{table="plants"\} (\d+)$/m.exec(metrics)?.[1],
    );
  };

  it('is logged and counted, once for all readers', async () => {
    const [reported, counted] = [reports().length, await count()];
    const { first, gap } = await makeGap();
    await Promise.all([1, 2, 3].map(() => gapAfter(first)));
    await vi.waitFor(() => expect(reports()).toHaveLength(reported + 1), PATIENCE);
    expect(reports().at(-1)).toMatchObject({ table: 'plants', position: gap });
    expect(await count()).toBe(counted + 1);
  });

  it('is logged at the start of another replica, which counts none', async () => {
    await makeGap();
    const other = await startTestService({ database: service.database });
    try {
      await vi.waitFor(
        () =>
          expect(other.log).toContainEqual(expect.objectContaining({ event: 'unrecorded-change' })),
        PATIENCE,
      );
      const metrics = await (await fetch(`${other.managementUrl}/metrics`)).text();
      expect(metrics).toContain('plant_store_changes_unrecorded_total{table="plants"} 0\n');
    } finally {
      await other.stop();
    }
  });

  it('is no reason if it was no change: records were removed', async () => {
    await create(1);
    const first = await latest();
    await create(2);
    await service.database.query(PRUNE_ALL);
    const { json } = await read(`after=${first}`);
    expect(json['message']).toMatch(/are no longer kept$/);
  });
});

describe('a reader that accepts a gap', () => {
  it('has all pages, on both sides of it', async () => {
    const { first, gap } = await makeGap();
    expect(await idsOf(`acceptGap=${gap}`)).toEqual([1, 2, 3]);
    expect(await idsOf(`after=${first}&acceptGap=${gap}`)).toEqual([2, 3]);
    expect(await idsOf(`plant=2&acceptGap=${gap}`)).toEqual([2]);
    const { headers } = await read(`after=${first}&limit=1&acceptGap=${gap}`);
    const next = /^<\/changes\?(.*)>; rel="next"$/.exec(headers.get('Link')!)![1]!;
    expect(next).toContain(`acceptGap=${gap}`);
    expect(await idsOf(next)).toEqual([3]);
    // Without it, pages begin behind the gap.
    expect(await idsOf('limit=50')).toEqual([3]);
  });

  it('has a stream across it, with what comes', async () => {
    const { first, gap } = await makeGap();
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const query = `after=${first}&acceptGap=${gap}`;
    const stream = await followEvents(`${service.url}/changes?${query}`, headers);
    await create(4);
    const events = await stream.take(3);
    stream.close();
    expect(events.map(({ data }) => data['id'])).toEqual([2, 3, 4]);
  });

  it('has the pages and the stream from before a restart of PostgreSQL, too', async () => {
    await create(1);
    const first = await latest();
    await create(2);
    await service.database.query("SELECT setval('plant_changes_incarnation_seq', 1)");
    // From this read on, positions are of another incarnation.
    await latest();
    await create(3);
    await service.database.query(BY_SQL);
    await create(4);
    const gap = await gapAfter(first);
    const query = `after=${first}&acceptGap=${gap}`;
    expect(await idsOf(query)).toEqual([2, 3, 4]);
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const stream = await followEvents(`${service.url}/changes?${query}`, headers);
    const events = await stream.take(3);
    stream.close();
    expect(events.map(({ data }) => data['id'])).toEqual([2, 3, 4]);
  });

  it('is told of the next gap', async () => {
    const { first, gap } = await makeGap();
    await service.database.query(BY_SQL);
    const next = await gapAfter(first, `&acceptGap=${gap}`);
    expect(BigInt(next)).toBeGreaterThan(BigInt(gap));
    expect(await idsOf(`after=${first}&acceptGap=${next}`)).toEqual([2, 3]);
  });

  it('is told if records after its position were removed, too', async () => {
    const { first, gap } = await makeGap();
    // They end before the gap.
    await service.database.query(`UPDATE plant_changes SET time = now() - interval '2 days'
      WHERE position < ${gap}`);
    await service.database.query("SELECT prune_plant_changes(now() - interval '1 day', 100)");
    const { status, json } = await read(`after=${first}&acceptGap=${gap}`);
    expect({ status, message: json['message'] }).toEqual({
      status: 410,
      message: `changes up to position ${gap} are no longer kept`,
    });
    expect(await idsOf(`acceptGap=${gap}`)).toEqual([3]);
  });

  it('misses nothing if it has accepted more than there is', async () => {
    await create(1);
    const first = await latest();
    await create(2);
    expect(await idsOf(`after=${first}&acceptGap=9223372036854775807`)).toEqual([2]);
    expect((await read('acceptGap=x')).status).toBe(400);
  });
});
