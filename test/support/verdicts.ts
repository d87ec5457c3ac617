import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Crowd } from './crowd.js';
import type { OwnPostgres } from './own-postgres.js';
import type { Replica } from './replica.js';
import {
  contradictions,
  inWords,
  isAcknowledged,
  isRefusedFor503,
  isServed,
  tally,
} from './reckoning.js';
import type { Attempt } from './reckoning.js';

/** Milliseconds for the service to find its database again. */
const RECOVERY = 2_000;

/**
 * Milliseconds within which everything is answered, whatever happens: a statement that is given up (6 s),
 * after a wait in the queue (2 s), on a machine that can be busy.
 */
const BOUND = 9_500;

/** Milliseconds for a refusal when it is known that the database is away. */
const QUICK = 100;

/** Of a hundred refusals; the others find out whether it is still so. */
const MOST = 0.95;

/** For so many milliseconds of an outage that is known by now, refusals come at once. */
export async function expectQuickRefusals(crowd: Crowd, duration = 1_000): Promise<void> {
  // The first refusals came after what had to be waited for.
  await sleep(500);
  const from = performance.now();
  await sleep(duration);
  const refused = sentSince(crowd, from).filter(isRefusedFor503);
  expect(refused.length).toBeGreaterThan(duration / 50);
  expect(refused.filter(({ took }) => took < QUICK).length / refused.length).toBeGreaterThan(MOST);
}

/** From now on, when the database is back: the service serves again soon, and goes on doing so. */
export async function expectRecovery(crowd: Crowd): Promise<void> {
  const back = performance.now();
  await sleep(RECOVERY);
  await crowd.served(300);
  const failed = sentSince(crowd, back + RECOVERY).filter((attempt) => !isServed(attempt));
  expect(failed.map(inWords)).toEqual([]);
}

/** Ends the crowd, and compares what it was told with what is stored. */
export async function expectReckoning(
  crowd: Crowd,
  database: Pick<OwnPostgres, 'plants'>,
  ...replicas: readonly Pick<Replica, 'service'>[]
): Promise<void> {
  const attempts = await crowd.stop();
  expect(contradictions(attempts, await database.plants())).toEqual([]);
  expect(attempts.filter(({ took }) => took > BOUND).map(inWords)).toEqual([]);
  // Each kind of request was among them.
  expect(attempts.filter(isAcknowledged).length).toBeGreaterThan(300);
  expect(Object.keys(tally(attempts))).toEqual(expect.arrayContaining(['40003', '40009']));
  for (const { service } of replicas) {
    expect(service.running).toBe(true);
    expect(service.stderr).toBe('');
  }
}

function sentSince({ attempts }: Crowd, time: number): Attempt[] {
  return attempts.filter(({ sentAt }) => sentAt >= time);
}
