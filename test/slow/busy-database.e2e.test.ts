import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PATIENCE, processTimeOf } from '../../packages/framework/test/support/patience.js';
import { lockPlants, OWN_LOCKS, WAIT_FOR_LOCKS } from '../support/plants-lock.js';
import { ONLY_REQUESTS, serviceForTest, startTestService } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';
import { areUsed, expectUnavailable } from '../support/unavailable.js';

describe('a database that is busy', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({
      environment: { DATABASE_POOL_MAX: '2', ...ONLY_REQUESTS },
      parameters: WAIT_FOR_LOCKS,
    });
  });

  afterAll(() => service.stop());

  const lock = () => lockPlants(service.database, 'ACCESS EXCLUSIVE');

  /** Sends creates that wait for the lock, each on a connection of its own. */
  async function hold(...ids: readonly number[]): Promise<Promise<Answer>[]> {
    const held: Promise<Answer>[] = [];
    for (const id of ids) {
      held.push(service.post({ id, name: 'held' }));
      await areUsed(service, held.length);
    }
    return held;
  }

  it('loses its connections and gets new ones', async () => {
    await service.post({ id: 1, name: 'a' });
    await service.database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plant-store' AND datname = current_database()",
    );
    await vi.waitFor(
      async () => expect((await service.post({ id: 1, name: 'a' })).status).toBe(200),
      PATIENCE,
    );
  });

  it('answers 503 when a statement takes too long, and when no connection is free', async () => {
    const unlock = await lock();
    const held = await hold(10, 11);
    const waiting = service.post({ id: 12, name: 'waiting' });
    const reading = service.request('GET', '/plants/1');
    expectUnavailable(await waiting, 50301);
    expectUnavailable(await reading, 50304);
    for (const answer of await Promise.all(held)) expectUnavailable(answer, 50305);
    // The server cancelled the statements as well, so they have no effect later. The session becomes idle shortly after the error.
    await vi.waitFor(async () => {
      const left = await service.database.query(
        "SELECT query FROM pg_stat_activity WHERE application_name = 'plant-store' AND state = 'active' AND datname = current_database()",
      );
      expect(left).toEqual([]);
    }, PATIENCE);
    await unlock();
    for (const id of [10, 11, 12]) {
      expect((await service.request('GET', `/plants/${id}`)).status).toBe(404);
    }
    expect((await service.post({ id: 10, name: 'free' })).status).toBe(200);
  });

  it('answers reads with 503 at once after others timed out waiting for a connection', async () => {
    const unlock = await lock();
    const read = async () => {
      const sent = service.request('GET', '/plants/404');
      const took = await processTimeOf(sent);
      return { answer: await sent, took };
    };
    const held: ReturnType<typeof read>[] = [];
    for (const used of [1, 2]) {
      held.push(read());
      await areUsed(service, used);
    }
    expectUnavailable((await read()).answer, 50301);
    for (let n = 1; n <= 5; n += 1) {
      const { answer, took } = await read();
      expectUnavailable(answer, 50301);
      // The timeout of the pool is twice as long.
      expect(took).toBeLessThan(1_000);
    }
    await unlock();
    for (const { answer } of await Promise.all(held)) expect(answer.status).toBe(404);
    expect((await read()).answer.status).toBe(404);
  });

  it('answers 503 at once after others timed out, and 200 when connections are free', async () => {
    const unlock = await lock();
    const held = await hold(20, 21);
    expectUnavailable(await service.post({ id: 22, name: 'waits' }), 50301);
    const rejected = service.post({ id: 23, name: 'does not' });
    expect(await processTimeOf(rejected)).toBeLessThan(1_000);
    expectUnavailable(await rejected, 50301);
    await unlock();
    for (const answer of await Promise.all(held)) expect(answer.status).toBe(200);
    expect((await service.post({ id: 23, name: 'does not' })).status).toBe(200);
  });

  it('answers a look-up within 6 s in total, although it has waited twice before', async () => {
    const single = await startTestService({
      environment: { DATABASE_POOL_MAX: '1', ...ONLY_REQUESTS },
      parameters: WAIT_FOR_LOCKS,
    });
    const { database } = single;
    const lockers: Client[] = [];
    const lockNext = async () => {
      const client = new Client({ connectionString: database.url });
      lockers.push(client);
      await client.connect();
      await client.query('BEGIN');
      return client.query('LOCK TABLE plants');
    };
    /** Waits for locks on the table to be requested and not granted. */
    const blocked = async (mode: string) =>
      vi.waitFor(async () => {
        const locks = await database.query(
          `SELECT 1 FROM pg_locks WHERE relation = $1::regclass AND mode = $2 AND NOT granted AND ${OWN_LOCKS}`,
          ['plants', mode],
        );
        expect(locks).toHaveLength(1);
      }, PATIENCE);
    try {
      await lockNext();
      const held = single.request('GET', '/plants/1');
      await blocked('AccessShareLock');
      let since = performance.now();
      const second = single.request('GET', '/plants/2');
      await vi.waitFor(async () => {
        const metrics = await (await fetch(`${single.managementUrl}/metrics`)).text();
        expect(metrics).toMatch(/^db_client_connection_pending_requests\{.*\} 1$/m);
      }, PATIENCE);
      // Waits in the queue, then for the connection, then for the lock.
      const third = single.request('GET', '/plants/3');
      const took = processTimeOf(third);
      for (const waiting of [held, second]) {
        const next = lockNext();
        await blocked('AccessExclusiveLock');
        // Each wait has a timeout of 2 s, and the statement after both one of 5 s: together, they would be longer than 7 s.
        await sleep(Math.max(0, since + 1_100 - performance.now()));
        await lockers.at(-2)!.query('COMMIT');
        await waiting;
        since = performance.now();
        await next;
      }
      expectUnavailable(await third, 50305);
      expect(await took).toBeLessThan(7_000);
    } finally {
      for (const client of lockers) await client.end();
      await single.stop();
    }
  });

  it('answers 503 when too many are waiting, and stores what it acknowledges', async () => {
    const unlock = await lock();
    const answers = Array.from({ length: 1_050 }, (_, index) =>
      service.post({ id: 100 + index, name: 'crowd' }),
    );
    expectUnavailable(await Promise.race(answers), 50301);
    await unlock();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    const stored = await service.database.query(
      "SELECT id::int AS id FROM plants WHERE name = 'crowd'",
    );
    const ids = new Set(stored.map(({ id }) => id));
    // On a busy machine, some are answered 503 after their time is over, and stored nevertheless.
    for (const [index, status] of statuses.entries()) {
      if (status === 200) expect(ids).toContain(100 + index);
    }
  });

  it('answers 500 without details when the schema is wrong, and logs it once', async () => {
    const broken = await serviceForTest();
    await broken.database.query('ALTER TABLE plants RENAME COLUMN tag TO tags');
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => broken.post({ id: 1, name: 'a' })),
    );
    const answer = answers[0]!;
    expect(answer.status).toBe(500);
    expect(answer.json).toEqual({
      error: 50000,
      message: 'the service failed to handle the request',
    });
    expect(broken.log.filter(({ level }) => Number(level) > 30)).toEqual([
      expect.objectContaining({ level: 50, err: expect.objectContaining({ code: '42703' }) }),
    ]);
  });
});
