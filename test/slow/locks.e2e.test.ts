import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { processTimeOf } from '../../packages/framework/test/support/patience.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { expectUnavailable } from '../support/unavailable.js';

/** What is done while clients act again and again. */
async function beside<Result>(
  count: number,
  act: (client: number, turn: number) => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  const end = new AbortController();
  const clients = Array.from({ length: count }, async (_, client) => {
    for (let turn = 0; !end.signal.aborted; turn += 1) await act(client, turn);
  });
  try {
    return await work();
  } finally {
    end.abort();
    await Promise.all(clients);
  }
}

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
      const changed = change(method, headers);
      expect(await processTimeOf(changed)).toBeLessThan(3_000);
      expectUnavailable(await changed, 50310);
      await other.query('COMMIT');
      expect((await service.request('GET', '/plants/1')).text).toBe('{"id":1,"name":"old"}');
      expect((await change(method, headers)).status).toBeLessThan(300);
    },
  );

  it('and holds a row keeps nobody from reading, nor from creating plants', async () => {
    await other.query('BEGIN; SELECT FROM plants WHERE id = 1 FOR UPDATE');
    const refusals = new Set<unknown>();
    const patch = async () => refusals.add((await change('PATCH')).json['error']);
    await beside(15, patch, async () => {
      for (let n = 0; n < 100; n += 1) {
        expect((await service.request('GET', `/plants/${1 + (n % 2)}`)).status).toBe(200);
        expect((await service.post({ id: 1_000 + n, name: 'created' })).status).toBe(200);
      }
    });
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

  it.each([
    ['a row', 1, 'SELECT FROM plants WHERE id = 101 FOR UPDATE'],
    ['a hundred rows', 100, 'SELECT FROM plants WHERE id BETWEEN 101 AND 200 FOR UPDATE'],
    ['a row that it creates', 1, "INSERT INTO plants VALUES (101, 'theirs')"],
    [
      'a hundred rows that it creates',
      100,
      "INSERT INTO plants SELECT n, 'theirs' FROM generate_series(101, 200) AS n",
    ],
  ])(
    'and holds %s does not slow down other creates beside a crowd that creates the same',
    async (_, rows, statement) => {
      if (!statement.startsWith('INSERT')) {
        await service.database.query(
          "INSERT INTO plants SELECT n, 'old' FROM generate_series(101, 200) AS n",
        );
      }
      let id = 1_000;
      /** @returns how long the other creates take, in milliseconds */
      const createBeside = (contested: number): Promise<number> => {
        const contest = async (client: number, turn: number) => {
          const answer = await service.post({
            id: contested + ((client + turn) % rows),
            name: 'old',
          });
          if (answer.status !== 200) expect([50301, 50310]).toContain(answer.json['error']);
        };
        return beside(30, contest, async () => {
          const begin = performance.now();
          const others = Array.from({ length: 4 }, async () => {
            for (let n = 0; n < 15; n += 1) {
              expect((await service.post({ id: (id += 1), name: 'other' })).status).toBe(200);
            }
          });
          await Promise.all(others);
          return performance.now() - begin;
        });
      };
      const control = await createBeside(501);
      await other.query(`BEGIN; ${statement}`);
      // Creates that wait for such a row in each group take 1.2 s, fifteen times.
      expect(await createBeside(101)).toBeLessThan(2 * control + 5_000);
      await other.query('ROLLBACK');
      expect((await service.post({ id: 101, name: 'old' })).status).toBe(200);
    },
    30_000,
  );

  it.each([{}, { 'If-None-Match': '"other"' }])(
    'and holds a row keeps changes of others with %j waiting once at most',
    async (headers) => {
      await other.query('BEGIN; SELECT FROM plants WHERE id = 1 FOR UPDATE');
      const patch = async () =>
        expect([50307, 50310]).toContain((await change('PATCH', headers)).json['error']);
      await beside(15, patch, async () => {
        // From here on, the row is known to be locked.
        expectUnavailable(await change('PATCH', headers), 50310);
        const others = async (): Promise<void> => {
          for (let n = 0; n < 20; n += 1) {
            const { status } = await service.request('PATCH', '/plants/2', {
              headers: { 'Content-Type': 'application/json' },
              body: `{"name":"${n}"}`,
            });
            expect(status).toBe(200);
          }
        };
        // Behind the crowd, each of them would take more than a second.
        expect(await processTimeOf(others())).toBeLessThan(15_000);
      });
    },
    30_000,
  );

  it('and holds the table is answered as such, also to a search', async () => {
    await other.query('BEGIN; LOCK TABLE plants');
    for (const path of ['/plants?name=old', '/plants', '/plants?tag=x', '/plants/1']) {
      expectUnavailable(await service.request('GET', path), 50310);
    }
    await other.query('COMMIT');
    // What the tests change by SQL has no record, which the service may notice by now.
    const others = service.log.filter(({ event }) => event !== 'unrecorded-change');
    expect(others.filter(({ level }) => Number(level) > 30)).toEqual([]);
  });
});
