import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { RECORDED_CREATE } from '../support/open-writers.js';
import { PRUNE_ALL } from '../support/prune.js';
import { startTestService, unlessBusy } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

const JSON_BODY = { 'Content-Type': 'application/json' };

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

interface Change {
  readonly position: number;
  readonly kind: string;
  readonly id: number;
}

async function changes(query = ''): Promise<readonly Change[]> {
  const answer = await service.request('GET', `/changes${query}`);
  expect(answer).toMatchObject({ status: 200 });
  return answer.json as unknown as readonly Change[];
}

async function latest(): Promise<number> {
  return Number((await service.request('GET', '/changes/latest')).json['position']);
}

const change = (method: string, id: number, body?: object, headers = {}): Promise<Answer> =>
  service.request(method, `/plants/${id}`, {
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: { ...(body !== undefined && JSON_BODY), ...headers },
  });

/** A session of somebody else. */
async function connect(): Promise<Client> {
  const client = new Client(service.database.url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

const summary = (found: readonly Change[]) => found.map(({ kind, id }) => `${kind} ${id}`);

describe('the record of changes', () => {
  it('has each change, with its content, its principal and its request', async () => {
    await service.post({ id: 7, name: 'Monstera' }, { 'X-Request-Id': 'first' });
    await change('PUT', 7, { name: 'Ficus', tag: 'indoor' });
    await change('PATCH', 7, { tag: null });
    await change('DELETE', 7);
    const found = await changes();
    expect(found).toMatchObject([
      { kind: 'created', id: 7, plant: { id: 7, name: 'Monstera' }, requestId: 'first' },
      { kind: 'replaced', id: 7, plant: { id: 7, name: 'Ficus', tag: 'indoor' } },
      { kind: 'replaced', id: 7, plant: { id: 7, name: 'Ficus' } },
      { kind: 'removed', id: 7, principal: { kind: 'static-token', id: 'AUTH_TOKEN' } },
    ]);
    expect(found[3]).not.toHaveProperty('plant');
    const positions = found.map(({ position }) => position);
    expect(positions).toEqual(positions.toSorted((one, other) => one - other));
  });

  it('has nothing of a replay, nor of a change that alters nothing', async () => {
    await service.post({ id: 7, name: 'Monstera', tag: 'indoor' });
    await service.post({ id: 7, name: 'Monstera', tag: 'indoor' });
    await change('PUT', 7, { name: 'Monstera', tag: 'indoor' });
    await change('PATCH', 7, {});
    await change('PATCH', 7, { name: 'Monstera' }, { 'If-None-Match': '"other"' });
    expect(summary(await changes())).toEqual(['created 7']);
  });

  it('has nothing of a change that is refused', async () => {
    await service.post({ id: 7, name: 'Monstera' });
    expect((await service.post({ id: 7, name: 'Other' })).status).toBe(400);
    expect((await change('PUT', 7, { name: 'Other' }, { 'If-Match': '"other"' })).status).toBe(412);
    expect((await change('DELETE', 7, undefined, { 'If-Match': '"other"' })).status).toBe(412);
    expect((await change('DELETE', 8)).status).toBe(404);
    expect(summary(await changes())).toEqual(['created 7']);
  });

  it('has conditional changes, and the plants of an import', async () => {
    await service.request('POST', '/plants/import', {
      body: '{"id":1,"name":"a"}\n{"id":2,"name":"b"}\n{"id":1,"name":"a"}\n',
      headers: { 'Content-Type': 'application/x-ndjson', 'X-Request-Id': 'the-import' },
    });
    await change('PUT', 1, { name: 'A' }, { 'If-None-Match': '"other"' });
    await change('DELETE', 2, undefined, { 'If-None-Match': '"other"' });
    const found = await changes();
    expect(summary(found.slice(0, 2)).toSorted()).toEqual(['created 1', 'created 2']);
    const requestId = 'the-import';
    expect(found.slice(0, 2)).toMatchObject([{ requestId }, { requestId }]);
    expect(summary(found.slice(2))).toEqual(['replaced 1', 'removed 2']);
  });

  it('has the changes of a plant in the order in which they were made, of many at once', async () => {
    await service.post({ id: 7, name: '0' });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        unlessBusy(() => change('PATCH', 7, { tag: String(n) })),
      ),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const found = await changes('?plant=7');
    expect(found).toHaveLength(41);
    const { json } = await service.request('GET', '/plants/7');
    expect(found.at(-1)).toMatchObject({ plant: json });
  });
});

describe('GET /changes', () => {
  it('leads from page to page, each with what follows the last', async () => {
    for (let id = 1; id <= 5; id += 1) await service.post({ id, name: 'a' });
    const seen: number[] = [];
    let path: string | undefined = '/changes?limit=2';
    while (path !== undefined) {
      const { json, headers } = await service.request('GET', path);
      seen.push(...(json as unknown as readonly Change[]).map(({ id }) => id));
      path = /<(.*)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1];
    }
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  it('selects the changes of a plant', async () => {
    for (const id of [1, 2]) await service.post({ id, name: 'a' });
    await change('PATCH', 1, { tag: 'b' });
    expect(summary(await changes('?plant=1'))).toEqual(['created 1', 'replaced 1']);
    const { headers } = await service.request('GET', '/changes?plant=1&limit=1');
    expect(headers.get('Link')).toMatch(/^<\/changes\?limit=1&plant=1&after=\d+>; rel="next"$/);
  });

  it('continues after the latest position with what is new', async () => {
    await service.post({ id: 1, name: 'a' });
    const position = await latest();
    await service.post({ id: 2, name: 'b' });
    expect(summary(await changes(`?after=${position}`))).toEqual(['created 2']);
  });

  it('takes an empty Last-Event-ID for none', async () => {
    await service.post({ id: 1, name: 'a' });
    const headers = { 'Last-Event-ID': '' };
    const answer = await service.request('GET', '/changes', { headers });
    expect(answer.text).toBe((await service.request('GET', '/changes')).text);
  });

  it('refuses a position that nobody was given', async () => {
    const headers = { 'Last-Event-ID': 'x' };
    expect((await service.request('GET', '/changes', { headers })).json).toMatchObject({
      error: 40004,
    });
    expect((await service.request('GET', '/changes?after=-1')).json).toMatchObject({
      error: 40006,
      message: expect.stringContaining('there is no position -1'),
    });
    await service.post({ id: 1, name: 'a' });
    const answer = await service.request('GET', `/changes?after=${(await latest()) + 1}`);
    expect(answer).toMatchObject({ status: 400, json: { error: 40006 } });
  });

  it('tells a reader that changes after its position were removed', async () => {
    await service.post({ id: 1, name: 'a' });
    const before = await latest();
    await service.post({ id: 2, name: 'b' });
    await service.database.query(PRUNE_ALL);
    const answer = await service.request('GET', `/changes?after=${before}`);
    expect(answer).toMatchObject({ status: 410, json: { error: 41000 } });
    expect(await changes()).toEqual([]);
    expect(await changes(`?after=${await latest()}`)).toEqual([]);
  });

  it('returns changes of long names within the bounds of a page', async () => {
    const name = 'x'.repeat(900_000);
    for (let id = 1; id <= 6; id += 1) await service.post({ id, name });
    const { json, headers } = await service.request('GET', '/changes');
    expect(json).toHaveLength(5);
    expect(headers.get('Link')).not.toBeNull();
  });
});

describe('GET /changes/latest', () => {
  it('has the position of the newest change, or 0', async () => {
    await service.post({ id: 1, name: 'a' });
    const [{ position } = { position: NaN }] = await changes();
    expect(await latest()).toBe(position);
    const other = await startTestService();
    expect((await other.request('GET', '/changes/latest')).text).toBe('{"position":0}');
    await other.stop();
  });
});

describe('a change without a record', () => {
  const tellsReadersAfter = async (position: number) =>
    (await service.request('GET', `/changes?after=${position}`)).status === 410;

  it.each([
    "INSERT INTO plants (id, name) VALUES (2, 'b')",
    "UPDATE plants SET name = 'b'",
    'DELETE FROM plants',
    'TRUNCATE plants',
    `WITH stored AS (INSERT INTO plants (id, name) VALUES (2, 'b') RETURNING id)
     INSERT INTO plant_changes (kind, principal, request_id, id) SELECT 'created', 'a:a', 'r', id FROM stored`,
  ])('is told to readers, also to those who had read all: %s', async (sql) => {
    await service.post({ id: 1, name: 'a' });
    const before = await latest();
    await service.database.query(sql);
    expect(await tellsReadersAfter(before)).toBe(true);
    expect(await changes(`?after=${await latest()}`)).toEqual([]);
    await service.post({ id: 3, name: 'c' });
    expect(await changes()).toMatchObject([{ kind: 'created', id: 3 }]);
  });

  it('is told after its commit, whatever is recorded meanwhile', async () => {
    await service.post({ id: 1, name: 'a' });
    const open = await connect();
    await open.query("BEGIN; UPDATE plants SET name = 'b' WHERE id = 1");
    await service.post({ id: 2, name: 'a' });
    // Whoever copies the plants now lacks the change.
    const copied = await latest();
    await service.post({ id: 3, name: 'a' });
    await open.query('COMMIT');
    expect(await tellsReadersAfter(copied)).toBe(true);
    expect(await tellsReadersAfter(await latest())).toBe(false);
  });

  it('in a transaction that has recorded others is told, too', async () => {
    await service.post({ id: 1, name: 'a' });
    const before = await latest();
    const client = await connect();
    await client.query('BEGIN');
    await client.query(RECORDED_CREATE, [2]);
    await client.query("UPDATE plants SET name = 'b'");
    await client.query('COMMIT');
    expect(await tellsReadersAfter(before)).toBe(true);
  });

  it('is none if the statement has recorded it, or has found nothing to record', async () => {
    await service.post({ id: 1, name: 'a' });
    const before = await latest();
    await (await connect()).query(RECORDED_CREATE, [2]);
    await Promise.all([1, 1, 2, 3].map((id) => service.post({ id, name: 'a' })));
    await change('PUT', 1, { name: 'a' });
    await change('PATCH', 1, { name: 'b' }, { 'If-Match': '*' });
    await change('DELETE', 9);
    await change('DELETE', 1);
    expect(await tellsReadersAfter(before)).toBe(false);
    expect(summary(await changes(`?after=${before}`))).toEqual([
      'created 2',
      'created 3',
      'replaced 1',
      'removed 1',
    ]);
  });
});

describe('the function that removes records', () => {
  it.each(["'infinity', 100", "now() - interval '23 hours', 100", "'-infinity', NULL", 'NULL, 1'])(
    'refuses what is no retention, and any number of rows: (%s)',
    async (parameters) => {
      await service.post({ id: 1, name: 'a' });
      await expect(
        service.database.query(`SELECT prune_plant_changes(${parameters})`),
      ).rejects.toThrow('records must be older than 24 hours, and at most 10000');
      expect(await changes()).toHaveLength(1);
    },
  );

  it('removes no young record for the sake of a change without a record', async () => {
    await service.post({ id: 1, name: 'a' });
    await service.database.query('DELETE FROM plants');
    expect(await changes()).toEqual([]);
    await service.database.query("SELECT prune_plant_changes(now() - interval '24 hours', 100)");
    expect(await service.database.query('SELECT id FROM plant_changes')).toEqual([{ id: '1' }]);
  });
});

describe('the order of changes', () => {
  it('lets no reader pass a transaction that is still open', async () => {
    const open = await connect();
    await open.query('BEGIN');
    await open.query(`INSERT INTO plant_changes (kind, principal, request_id, id)
      SELECT 'removed', 'jwt:a', 'r', 99 WHERE begin_plant_changes() IS NOT NULL`);
    await service.post({ id: 1, name: 'a' });
    expect(await changes()).toEqual([]);
    await open.query('COMMIT');
    expect(summary(await changes())).toEqual(['removed 99', 'created 1']);
  });

  it('goes on with far greater positions on another server, which may have lost some', async () => {
    await service.post({ id: 1, name: 'a' });
    const before = await latest();
    await service.database.query("SELECT setval('plant_changes_incarnation_seq', 1)");
    expect(await changes(`?after=${before}`)).toEqual([]);
    await service.post({ id: 2, name: 'b' });
    const [found] = await changes(`?after=${before}`);
    expect(found).toMatchObject({ kind: 'created', id: 2 });
    expect(found!.position).toBeGreaterThan(before + 1);
  });
});

describe('a position of a server that took over and was given up again', () => {
  it('is refused, because that server lacked changes of this one', async () => {
    await service.post({ id: 1, name: 'a' });
    const own = await latest();
    await service.database.query("SELECT setval('plant_changes_incarnation_seq', 1)");
    await service.post({ id: 2, name: 'b' });
    const newest = await latest();
    // Positions begin at the time in microseconds.
    for (const foreign of [own + 1_000_000_000, newest - 1_000_000]) {
      const answer = await service.request('GET', `/changes?after=${foreign}`);
      expect(answer).toMatchObject({ status: 410, json: { error: 41000 } });
    }
    for (const known of [own, newest]) {
      expect((await service.request('GET', `/changes?after=${known}`)).status).toBe(200);
    }
  });

  it('is accepted if this server has no change that is older, so the reader gets all', async () => {
    const fresh = await startTestService();
    onTestFinished(() => fresh.stop());
    await fresh.post({ id: 1, name: 'a' });
    const { json } = await fresh.request('GET', '/changes/latest');
    const foreign = Number(json['position']) - 1_000_000_000;
    const answer = await fresh.request('GET', `/changes?after=${foreign}`);
    expect(answer).toMatchObject({ status: 200, json: [{ kind: 'created', id: 1 }] });
  });
});

describe('GET /changes and GET /changes/latest', () => {
  it('leave connections to others while they wait for a lock', async () => {
    await service.post({ id: 1, name: 'a' });
    const client = await connect();
    await client.query('BEGIN; LOCK TABLE plant_changes_state');
    const waiting = Array.from({ length: 30 }, (_, n) =>
      service.request('GET', ['/changes', '/changes/latest'][n % 2]!, {
        headers: n % 4 === 0 ? { Accept: 'text/event-stream' } : {},
      }),
    );
    expect((await service.request('GET', '/plants/1')).status).toBe(200);
    await client.query('ROLLBACK');
    const statuses = (await Promise.all(waiting.filter((_, n) => n % 4 !== 0))).map(
      ({ status }) => status,
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});
