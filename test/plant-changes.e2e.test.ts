import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PATIENCE } from './support/patience.js';
import { createMigratedDatabase, createTestDatabase, given } from './support/test-database.js';
import { startTestService } from './support/test-service.js';
import type { Answer, TestService } from './support/test-service.js';

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
    expect(summary(found).toSorted()).toEqual([
      'created 1',
      'created 2',
      'removed 2',
      'replaced 1',
    ]);
    expect(found.filter(({ kind }) => kind === 'created')).toMatchObject([
      { requestId: 'the-import' },
      { requestId: 'the-import' },
    ]);
  });

  it('has the changes of a plant in the order in which they were made, of many at once', async () => {
    await service.post({ id: 7, name: '0' });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => change('PATCH', 7, { tag: String(n) })),
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

  it('refuses a position that nobody was given', async () => {
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
    await service.database.query(`SELECT prune_plant_changes(now() + interval '1 day', 1000)`);
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

describe('the order of changes', () => {
  it('lets no reader pass a transaction that is still open', async () => {
    const open = new Client(service.database.url);
    await open.connect();
    await open.query('BEGIN');
    await open.query(`INSERT INTO plant_changes (kind, principal, request_id, id)
      SELECT 'removed', 'jwt:a', 'r', 99 WHERE begin_plant_changes() IS NOT NULL`);
    await service.post({ id: 1, name: 'a' });
    expect(await changes()).toEqual([]);
    await open.query('COMMIT');
    await open.end();
    expect(summary(await changes())).toEqual(['removed 99', 'created 1']);
  });

  it.each([
    ['on another server', "started_at = now() - interval '1 year'"],
    ['in a table that was restored in place', 'relation = 1'],
  ])('goes on with far greater positions %s, which may have lost some', async (_, other) => {
    await service.post({ id: 1, name: 'a' });
    const before = await latest();
    await service.database.query(`UPDATE plant_changes_state SET ${other}`);
    expect(await changes(`?after=${before}`)).toEqual([]);
    await service.post({ id: 2, name: 'b' });
    const [found] = await changes(`?after=${before}`);
    expect(found).toMatchObject({ kind: 'created', id: 2 });
    expect(found!.position).toBeGreaterThan(before + 1);
  });
});

describe('GET /changes and GET /changes/latest', () => {
  it('leave connections to others while they wait for a lock', async () => {
    await service.post({ id: 1, name: 'a' });
    const client = new Client({ connectionString: service.database.url });
    await client.connect();
    await client.query('BEGIN; LOCK TABLE plant_changes_state');
    const waiting = Array.from({ length: 30 }, (_, n) =>
      service.request('GET', ['/changes', '/changes/latest'][n % 2]!, {
        headers: n % 4 === 0 ? { Accept: 'text/event-stream' } : {},
      }),
    );
    expect((await service.request('GET', '/plants/1')).status).toBe(200);
    await client.query('ROLLBACK');
    await client.end();
    const statuses = (await Promise.all(waiting.filter((_, n) => n % 4 !== 0))).map(
      ({ status }) => status,
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

describe('a copy of a database', () => {
  it('continues with other positions than the original', async () => {
    const database = await createMigratedDatabase();
    const name = new URL(database.url).pathname.slice(1);
    const positions = [];
    for (const one of [database, () => createTestDatabase(`TEMPLATE ${name}`), database]) {
      const other = await startTestService({
        database: typeof one === 'function' ? await one() : given(one.url),
      });
      await other.post({ id: positions.length, name: 'a' });
      positions.push((await other.request('GET', '/changes/latest')).json['position']);
      await other.stop();
    }
    expect(positions).toEqual([1, expect.any(Number), 2]);
    expect(positions[1]).toBeGreaterThan(1_700_000_000_000_000);
    await database.drop();
  });
});

describe('CHANGES_ENABLED=false', () => {
  it('is told to readers of before when changes are recorded again', async () => {
    const database = await createMigratedDatabase();
    const serve = (enabled: string) =>
      startTestService({
        database: given(database.url),
        environment: { CHANGES_ENABLED: enabled },
      });
    const answers = [];
    for (const [n, enabled] of ['true', 'true', 'false', 'true'].entries()) {
      const other = await serve(enabled);
      await other.post({ id: n, name: 'a' });
      answers.push((await other.request('GET', '/changes?after=1')).json);
      if (n === 3) answers.push((await other.request('GET', '/changes')).json);
      await other.stop();
    }
    expect(answers).toMatchObject([
      [],
      [{ id: 1 }],
      { error: 40400 },
      { error: 41000 },
      [{ id: 3 }],
    ]);
    // The old ones go, although they are younger than the retention.
    const other = await serve('true');
    await vi.waitFor(async () => {
      expect(await database.query('SELECT id FROM plant_changes')).toEqual([{ id: '3' }]);
    }, PATIENCE);
    await other.stop();
    await database.drop();
  });

  it('records nothing, and has no such paths', async () => {
    const other = await startTestService({ environment: { CHANGES_ENABLED: 'false' } });
    try {
      expect((await other.post({ id: 1, name: 'a' })).status).toBe(200);
      expect((await other.request('GET', '/changes')).json).toMatchObject({ error: 40400 });
      expect(await other.database.query('SELECT * FROM plant_changes')).toEqual([]);
    } finally {
      await other.stop();
    }
  });
});

describe('CHANGES_RETENTION', () => {
  it('removes older records, in the order of their positions', async () => {
    const database = await createMigratedDatabase();
    await database.query(
      `INSERT INTO plant_changes (kind, principal, request_id, id, time)
       SELECT 'removed', 'jwt:a', 'r', n, now() - interval '1 day' - interval '1 second' * (2501 - n)
       FROM generate_series(1, 2502) AS n`,
    );
    const other = await startTestService({ database, environment: { CHANGES_RETENTION: '1d' } });
    try {
      await vi.waitFor(async () => {
        const rows = await database.query('SELECT id FROM plant_changes');
        expect(rows).toEqual([{ id: '2502' }]);
      }, PATIENCE);
      const metrics = await (await fetch(`${other.managementUrl}/metrics`)).text();
      expect(metrics).toContain('plant_store_changes_pruned_total{table="plant_changes"} 2501');
      expect((await other.request('GET', '/changes?after=2500')).status).toBe(410);
      expect((await other.request('GET', '/changes?after=2501')).json).toMatchObject([
        { id: 2502 },
      ]);
    } finally {
      await other.stop();
    }
  });
});

describe('records that cannot be removed', () => {
  it('are reported, and everything else goes on', async () => {
    const database = await createMigratedDatabase();
    await database.query(
      `CREATE OR REPLACE FUNCTION prune_plant_changes(before timestamptz, most integer) RETURNS integer
         LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`,
    );
    const broken = await startTestService({ database });
    try {
      await vi.waitFor(() => {
        expect(broken.log).toContainEqual(
          expect.objectContaining({ level: 50, msg: 'old changes cannot be removed' }),
        );
      }, PATIENCE);
      expect((await broken.post({ id: 1, name: 'a' })).status).toBe(200);
      expect((await broken.request('GET', '/changes')).json).toMatchObject([{ id: 1 }]);
    } finally {
      await broken.stop();
    }
  });
});

describe('a database that cannot keep the order of changes', () => {
  const LIKE_CITUS =
    'SET allow_system_table_mods = on; CREATE TABLE pg_catalog.pg_dist_partition ()';

  it('gets no records, which the start says', async () => {
    const database = await createMigratedDatabase();
    await database.query(LIKE_CITUS);
    const other = await startTestService({ database });
    try {
      expect((await other.post({ id: 1, name: 'a' })).status).toBe(200);
      expect((await other.request('GET', '/changes')).json).toMatchObject({ error: 40400 });
      expect((await other.request('GET', '/changes/latest')).json).toMatchObject({ error: 40400 });
      expect(other.log).toContainEqual(
        expect.objectContaining({ level: 40, msg: 'changes of plants are not recorded' }),
      );
    } finally {
      await other.stop();
    }
  });

  it('stops a start with CHANGES_ENABLED=true', async () => {
    const database = await createMigratedDatabase();
    await database.query(LIKE_CITUS);
    const start = startTestService({ database, environment: { CHANGES_ENABLED: 'true' } });
    await expect(start).rejects.toThrow(/^CHANGES_ENABLED must not be true: .*Citus/);
    await database.drop();
  });
});
