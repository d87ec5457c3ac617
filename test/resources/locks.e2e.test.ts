import { Injectable } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ERRORS } from '../../packages/framework/src/errors/common-errors.js';
import { LOCK_LIMITS } from '../../packages/framework/src/database/connections/locks.js';
import { Actor, Locks } from '../../packages/framework/src/index.js';
import type { Service } from '../../packages/framework/src/app/service.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { appOf } from '../../packages/framework/test/support/running-service.js';
import { start } from '../../packages/framework/test/support/start.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { startPooler } from '../support/pooler.js';
import type { Pooler } from '../support/pooler.js';

const NAME = 'expire-bookings';

@Injectable()
class ExpiryJob {
  constructor(private readonly locks: Locks) {}

  /** Returns whether it ran: not if another replica runs it now. */
  run(expire: (actor: Actor, signal: AbortSignal) => Promise<void>): Promise<boolean> {
    return this.locks.tryRun('expire-bookings', (signal) =>
      expire(Actor.system('expire-bookings'), signal),
    );
  }
}

/** The sessions with a lock. */
const HELD = `FROM pg_stat_activity JOIN pg_locks USING (pid)
  WHERE locktype = 'advisory' AND classid = 3 AND datname = current_database()`;

/** A job that runs until it is ended, or until its signal aborts. */
function begin(of: Locks, name = NAME, options = {}) {
  let signal: AbortSignal | undefined;
  let end = (): void => {};
  const job = (given: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      signal = given;
      end = resolve;
      given.addEventListener('abort', () => reject(given.reason as Error));
    });
  const ran = of.tryRun(name, job, options);
  ran.catch(() => {});
  const begun = () => vi.waitFor(() => expect(signal).toBeDefined(), { timeout: PATIENCE });
  return { ran, begun, end: () => end(), signal: () => signal! };
}

describe.each(['directly', 'through a pooler'])('a job with a lock, %s', (way) => {
  let database: TestDatabase;
  let pooler: Pooler;
  let services: Service[];
  let locks: readonly [Locks, Locks];

  const replica = () => {
    const { url } = way === 'directly' ? database : pooler;
    return start(
      appOf([], [], { providers: [ExpiryJob] }),
      { ...database, url },
      { DATABASE_POOL_MAX: '1' },
    );
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    pooler = await startPooler(database.url);
    // One after the other, because the first one migrates.
    services = [await replica(), await replica()];
    locks = [services[0]!.get(Locks), services[1]!.get(Locks)];
  });

  afterAll(async () => {
    for (const service of services) await service.stop();
    await pooler.stop();
    await database.drop();
  });

  it('runs on one replica at a time, and again when it has ended', async () => {
    const [one, other] = locks;
    const first = begin(one);
    await first.begun();
    const second = vi.fn<() => void>();
    expect(await one.tryRun(NAME, second)).toBe(false);
    expect(await other.tryRun(NAME, second)).toBe(false);
    expect(second).not.toHaveBeenCalled();
    expect(await other.tryRun('another', second)).toBe(true);
    first.end();
    expect(await first.ran).toBe(true);
    expect(await other.tryRun(NAME, second)).toBe(true);
    expect(await one.tryRun(NAME, second)).toBe(true);
    expect(second).toHaveBeenCalledTimes(3);
  });

  it('lets its caller have what it throws, and others the lock', async () => {
    const [one, other] = locks;
    await expect(one.tryRun(NAME, () => Promise.reject(new Error('broken')))).rejects.toThrow(
      'broken',
    );
    expect(await other.tryRun(NAME, () => {})).toBe(true);
  });

  it('is the actor of what it changes', async () => {
    const expire = vi.fn<(actor: Actor) => Promise<void>>().mockResolvedValue();
    expect(await services[0]!.get(ExpiryJob).run(expire)).toBe(true);
    const [[{ principal }]] = expire.mock.calls as [[Actor]];
    expect(principal).toMatchObject({ kind: 'system', id: NAME });
  });

  it('leaves the pool its connections', async () => {
    const first = begin(locks[0]);
    await first.begun();
    const response = await fetch(`http://127.0.0.1:${services[0]!.address.port}/openapi.json`);
    expect(response.status).toBe(200);
    const [row] = await database.query(
      `SELECT bool_and(backend_xmin IS NULL) AS "holdsNothing" ${HELD}`,
    );
    expect(row).toEqual({ holdsNothing: true });
    first.end();
    await first.ran;
  });

  it('is told when its time is over, and keeps the lock until it has ended', async () => {
    const [one, other] = locks;
    let end: (() => void) | undefined;
    const job = () => new Promise<void>((resolve) => (end = resolve));
    const ran = one.tryRun(NAME, job, { timeout: 1 });
    await vi.waitFor(() => expect(end).toBeDefined(), { timeout: PATIENCE });
    const second = begin(one, 'second', { timeout: 1 });
    await expect(second.ran).rejects.toThrow('second: it has not ended after 1 ms');
    expect(await other.tryRun(NAME, () => {})).toBe(false);
    end!();
    expect(await ran).toBe(true);
  });

  it.each([0, 0.5, NaN, 2 ** 31, Infinity])('rejects the timeout %s', async (timeout) => {
    await expect(locks[0].tryRun(NAME, () => {}, { timeout })).rejects.toThrow(
      `the timeout of the lock ${NAME} is not 1 to 2147483647 ms`,
    );
  });

  it('is told when its lock is lost with the connection', async () => {
    const [one, other] = locks;
    const first = begin(one);
    await first.begun();
    await database.query(`SELECT pg_terminate_backend(pid) ${HELD}`);
    await expect(first.ran).rejects.toThrow('the lock is lost');
    expect(await other.tryRun(NAME, () => {})).toBe(true);
  });

  it('does not start beyond a number of locks', async () => {
    const [one] = locks;
    const jobs = Array.from({ length: LOCK_LIMITS.held }, (_, at) => begin(one, `job ${at}`));
    for (const { begun } of jobs) await begun();
    await expect(one.tryRun(NAME, () => {})).rejects.toMatchObject({ kind: ERRORS.poolExhausted });
    for (const { end, ran } of jobs) {
      end();
      expect(await ran).toBe(true);
    }
  });

  it('is told of a shutdown, which waits for it', async () => {
    const service = await replica();
    const of = service.get(Locks);
    const job = begin(of);
    await job.begun();
    await service.stop();
    expect(job.signal().aborted).toBe(true);
    await expect(job.ran).rejects.toMatchObject({ kind: ERRORS.shuttingDown });
    await expect(of.tryRun(NAME, () => {})).rejects.toMatchObject({ kind: ERRORS.shuttingDown });
    expect(await locks[0].tryRun(NAME, () => {})).toBe(true);
  });
});
