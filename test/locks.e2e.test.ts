import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService } from './support/test-service.js';
import type { TestService } from './support/test-service.js';
import { expectUnavailable } from './support/unavailable.js';

describe('a transaction of somebody else that stays open', () => {
  let service: TestService;
  let other: Client;

  beforeAll(async () => {
    service = await startTestService();
  });

  beforeEach(async () => {
    await service.database.empty();
    for (const id of [1, 2]) await service.post({ id, name: 'old' });
    other = new Client({ connectionString: service.database.url });
    await other.connect();
  });

  afterEach(() => other.end());
  afterAll(() => service.stop());

  const change = (method: string, headers: Record<string, string> = {}) =>
    service.request(method, '/plants/1', {
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(method !== 'DELETE' && { body: '{"name":"new"}' }),
    });

  it.each([
    ['PUT', {}],
    ['PATCH', {}],
    ['DELETE', {}],
    ['PATCH', { 'If-None-Match': '"other"' }],
    ['DELETE', { 'If-None-Match': '"other"' }],
  ])(
    'and holds a row makes %s with %j fail after a second, and changes nothing',
    async (method, headers) => {
      await other.query('BEGIN; SELECT FROM plants WHERE id = 1 FOR UPDATE');
      const start = performance.now();
      expectUnavailable(await change(method, headers), 50310);
      expect(performance.now() - start).toBeLessThan(3_000);
      await other.query('COMMIT');
      expect((await service.request('GET', '/plants/1')).text).toBe('{"id":1,"name":"old"}');
      expect((await change(method, headers)).status).toBeLessThan(300);
    },
  );

  it('and holds a row keeps nobody from reading, nor from creating plants', async () => {
    await other.query('BEGIN; SELECT FROM plants WHERE id = 1 FOR UPDATE');
    const end = new AbortController();
    const refusals = new Set<unknown>();
    const clients = Array.from({ length: 15 }, async () => {
      while (!end.signal.aborted) refusals.add((await change('PATCH')).json['error']);
    });
    try {
      for (let n = 0; n < 100; n += 1) {
        expect((await service.request('GET', `/plants/${1 + (n % 2)}`)).status).toBe(200);
        expect((await service.post({ id: 1_000 + n, name: 'created' })).status).toBe(200);
      }
    } finally {
      end.abort();
      await Promise.all(clients);
    }
    expect(refusals).toContain(50310);
    // Others found no slot in time.
    expect([50307, 50310]).toEqual(expect.arrayContaining([...refusals]));
  });

  it('and holds a row of a group of creates fails only the create of this row', async () => {
    await other.query("BEGIN; INSERT INTO plants VALUES (10, 'theirs')");
    const ids = Array.from({ length: 30 }, (_, id) => id);
    const answers = await Promise.all(ids.map((id) => service.post({ id: 1 + id, name: 'old' })));
    for (const [index, answer] of answers.entries()) {
      if (index === 9) expectUnavailable(answer, 50310);
      else expect(answer.status).toBe(200);
    }
    await other.query('ROLLBACK');
    expect((await service.post({ id: 10, name: 'old' })).status).toBe(200);
  });

  it('and holds the table is answered as such, also to a search', async () => {
    await other.query('BEGIN; LOCK TABLE plants');
    for (const path of ['/plants?name=old', '/plants', '/plants?tag=x', '/plants/1']) {
      expectUnavailable(await service.request('GET', path), 50310);
    }
    await other.query('COMMIT');
    expect(service.log.filter(({ level }) => Number(level) > 30)).toEqual([]);
  });
});
