import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { lockPlants, WAIT_FOR_LOCKS } from '../support/plants-lock.js';
import { serviceForTest, startTestService, TOKEN } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ parameters: WAIT_FOR_LOCKS });
  // The first requests take long on a busy machine, and the tests have as long as a plant may wait.
  await Promise.all(numbers(-200, 100).map((id) => service.post({ id, name: 'first of all' })));
});

afterAll(() => service.stop());

async function metrics(): Promise<string> {
  return (await fetch(`${service.managementUrl}/metrics`)).text();
}

async function areWaiting(count: number): Promise<void> {
  await vi.waitFor(async () => {
    expect(await metrics()).toContain(
      `\nplant_store_creations_waiting{resource="plants"} ${count}\n`,
    );
  }, PATIENCE);
}

/** Locks the table, and sends plants one after the other, each in a separate group, which the lock blocks. */
async function holdUp(ids: readonly number[]) {
  const unlock = await lockPlants(service.database, 'ACCESS EXCLUSIVE');
  const answers: Promise<Answer>[] = [];
  for (const id of ids) {
    answers.push(service.post({ id, name: 'first' }));
    await unlock.waiting(answers.length);
  }
  return { unlock, answers };
}

/** Sends plants in groups: the first two groups block the others. */
async function createTogether(
  plants: readonly object[],
  whileWaiting: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Answer[]> {
  // On a busy machine, new connections for all of them take longer than a plant may wait.
  await Promise.all(plants.map(() => service.request('GET', '/plants/404')));
  const { unlock, answers: first } = await holdUp([-1, -2]);
  const answers = plants.map((plant) => service.post(plant));
  await areWaiting(plants.length);
  await whileWaiting();
  await unlock();
  for (const answer of await Promise.all(first)) expect(answer.status).toBe(200);
  return Promise.all(answers);
}

/** How many groups were sent so far. */
async function groups(): Promise<number> {
  const count = /^plant_store_creation_group_rows_count\{resource="plants"\} (\d+)$/m;
  return Number(count.exec(await metrics())?.[1]);
}

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);

describe('plants that arrive together', () => {
  it('are committed together, and each gets its own answer', async () => {
    const plants = numbers(1_000, 100).map((id) => ({ id, name: `Plant ${id}`, tag: 'group' }));
    const answers = await createTogether(plants);
    expect(answers.map(({ json }) => json)).toEqual(plants.map(({ name, tag }) => ({ name, tag })));
    const [row] = await service.database.query(
      "SELECT count(*)::int AS plants, count(DISTINCT xmin::text)::int AS commits FROM plants WHERE tag = 'group'",
    );
    expect(row?.['plants']).toBe(100);
    expect(row?.['commits']).toBeLessThanOrEqual(10);
  });

  it('with the same id have one winner, which may be repeated', async () => {
    const contents = ['a', 'b', 'a', 'b', 'c', 'a'];
    const answers = await createTogether(contents.map((name) => ({ id: 2_000, name })));
    const [stored] = await service.database.query('SELECT name FROM plants WHERE id = 2000');
    for (const [i, answer] of answers.entries()) {
      if (contents[i] === stored?.['name']) {
        expect([answer.status, answer.json]).toEqual([200, { name: contents[i] }]);
      } else {
        expect([answer.status, answer.json['error']]).toEqual([400, 40009]);
      }
    }
  });

  it('are compared with a stored plant in one statement', async () => {
    await service.post({ id: 2_500, name: 'stored' });
    const names = [...numbers(1, 40).map((n) => `other ${n}`), 'stored'];
    const before = await groups();
    const answers = await createTogether(names.map((name) => ({ id: 2_500, name })));
    expect(answers.map(({ status }) => status)).toEqual([...numbers(1, 40).map(() => 400), 200]);
    // The blocked groups, and the groups behind them.
    expect((await groups()) - before).toBeLessThanOrEqual(5);
  });

  it('are created when a DELETE removes the stored plant between two comparisons', async () => {
    const id = 2_600;
    for (let round = 0; round < 100; round += 1) {
      await service.post({ id, name: 'stored' });
      const [other, replay, removed] = await Promise.all([
        service.post({ id, name: 'other' }),
        service.post({ id, name: 'stored' }),
        service.request('DELETE', `/plants/${id}`),
      ]);
      expect(removed.status).toBe(204);
      // One of both finds the id free, or the stored plant as it is.
      expect([other.status, replay.status]).toContain(200);
      for (const { status, json } of [other, replay]) {
        if (status !== 200) expect([status, json['error']]).toEqual([400, 40009]);
      }
      const after = await service.request('GET', `/plants/${id}`);
      if (after.status === 200) await service.request('DELETE', `/plants/${id}`);
    }
  });

  it('are compared with stored plants: new, repeated, taken', async () => {
    await service.post({ id: 3_000, name: 'old' });
    await service.post({ id: 3_001, name: 'old', tag: 'x' });
    const answers = await createTogether([
      { id: 3_000, name: 'old' },
      { id: 3_000, name: 'other' },
      { id: 3_001, name: 'old' },
      { id: 3_001, name: 'old', tag: 'x' },
      { id: 3_002, name: 'new' },
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 400, 200, 200]);
    for (const answer of answers.slice(1, 3)) expect(answer.json['error']).toBe(40009);
  });

  it('are compared byte for byte, including case and normalisation', async () => {
    const names = ['é', 'e\u0301', 'É', 'e', 'é ', '\ufb01', 'fi', 'ß', 'ss', '', '\u200b'];
    for (const [i, stored] of names.entries()) await service.post({ id: 3_100 + i, name: stored });
    for (const sent of names) {
      const answers = await Promise.all(
        names.map((_, i) => service.post({ id: 3_100 + i, name: sent })),
      );
      expect(answers.map(({ status }) => status)).toEqual(
        names.map((stored) => (stored === sent ? 200 : 400)),
      );
    }
  });

  it('do not fail because the database refuses one of them', async () => {
    await service.database.query(
      "ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'weed')",
    );
    const names = numbers(0, 21).map((i) => (i === 13 ? 'weed' : 'flower'));
    const answers = await createTogether(names.map((name, i) => ({ id: 4_000 + i, name })));
    expect(answers.map(({ status }) => status)).toEqual(
      names.map((name) => (name === 'weed' ? 500 : 200)),
    );
    const stored = await service.database.query(
      "SELECT id::int FROM plants WHERE id BETWEEN 4000 AND 4999 AND name = 'flower'",
    );
    expect(stored).toHaveLength(20);
  });

  it('are not affected by a client that disconnects', async () => {
    const plants = numbers(5_000, 10).map((id) => ({ id, name: 'stays' }));
    const answers = await createTogether(plants, async () => {
      const gone = new AbortController();
      const left = fetch(`${service.url}/plants`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
        body: '{"id":5999,"name":"left"}',
        signal: gone.signal,
      });
      await areWaiting(plants.length + 1);
      gone.abort();
      await expect(left).rejects.toThrow('aborted');
    });
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('time out in the queue before the statements ahead of them', async () => {
    const { unlock, answers: ahead } = await holdUp([6_000, 6_001]);
    const late = await service.post({ id: 6_002, name: 'late' });
    expect([late.status, late.json['error']]).toEqual([503, 50301]);
    expect(late.headers.get('retry-after')).toBe('1');
    await unlock();
    expect((await Promise.all(ahead)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await service.request('GET', '/plants/6002')).status).toBe(404);
  });
});

describe('two replicas', () => {
  it('that create the same ids in opposite order both succeed', async () => {
    const other = await serviceForTest({ database: service.database });
    const ids = numbers(7_000, 200);
    const create = async (replica: TestService, id: number): Promise<number> => {
      const { status, json } = await replica.post({ id, name: 'same' });
      // On a busy machine, a plant may time out in the queue. A deadlock would be 50300.
      return status === 503 && json['error'] === 50301 ? create(replica, id) : status;
    };
    const statuses = await Promise.all([
      ...ids.map((id) => create(service, id)),
      ...ids.toReversed().map((id) => create(other, id)),
    ]);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const stored = await service.database.query(
      'SELECT id::int FROM plants WHERE id BETWEEN 7000 AND 7199 ORDER BY id',
    );
    expect(stored.map(({ id }) => id)).toEqual(ids);
  });
});

/** A service whose table has a trigger that sleeps. */
async function startSlow(seconds: number, occasion: string): Promise<TestService> {
  const slow = await serviceForTest();
  await slow.database.query(
    `CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS
     'BEGIN PERFORM pg_sleep(${seconds}); RETURN NEW; END'`,
  );
  await slow.database.query(`CREATE TRIGGER linger ${occasion} EXECUTE FUNCTION linger()`);
  return slow;
}

it('slow commits keep groups large enough for the queue', async () => {
  const slow = await startSlow(0.6, 'AFTER INSERT ON plants FOR EACH STATEMENT');
  const statuses: number[] = [];
  const clients = numbers(1, 30).map(async (client) => {
    for (const plant of numbers(1, 6)) {
      statuses.push((await slow.post({ id: client * 100 + plant, name: 'slow' })).status);
    }
  });
  await Promise.all(clients);
  expect(new Set(statuses)).toEqual(new Set([200]));
});

it('slow rows keep groups small enough for the statement timeout', async () => {
  const slow = await startSlow(0.02, 'BEFORE INSERT ON plants FOR EACH ROW');
  const end = performance.now() + 9_000;
  let created = 0;
  const clients = numbers(1, 600).map(async (client) => {
    for (let id = client; performance.now() < end; id += 600) {
      const { status, json } = await slow.post({ id, name: 'slow' });
      if (status === 200) {
        created += 1;
      } else {
        // Refused in time. A statement that takes too long would be 50305.
        expect([status, json['error']]).toEqual([503, 50301]);
        await sleep(250);
      }
    }
  });
  await Promise.all(clients);
  expect(created).toBeGreaterThan(50);
  const [row] = await slow.database.query('SELECT count(*)::int AS plants FROM plants');
  expect(row).toEqual({ plants: created });
});
