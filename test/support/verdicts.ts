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

/** Timeout for the recovery of the service, in milliseconds. */
const RECOVERY = 2_000;

/**
 * Milliseconds within which everything is answered, whatever happens: a statement that is given up (6 s),
 * after a wait in the queue (2 s), on a machine that can be busy.
 */
const BOUND = 9_500;

/** Timeout of a refusal during a known outage, in milliseconds, unless a control takes as long. */
const QUICK = 100;

/** Percentage of fast refusals. The others detect the outage: one of each client, however many there are. */
const MOST = 0.95;
const ENOUGH = 400;

/** After the detection of an outage, refusals are immediate. */
export async function expectQuickRefusals(crowd: Crowd): Promise<void> {
  // The first refusals came after a timeout.
  await sleep(500);
  const from = performance.now();
  const controls = await crowd.controlsDuring(() =>
    Promise.all([sleep(1_000), crowd.outcomes(isRefusedFor503, ENOUGH)]),
  );
  const refused = sentSince(crowd, from).filter(isRefusedFor503);
  expect(refused.length).toBeGreaterThan(ENOUGH / 2);
  expect(controls.filter((attempt) => !isServed(attempt)).map(inWords)).toEqual([]);
  const quick = refused.filter((attempt) => {
    // Where the machine has delayed it, a control was delayed at that time, too.
    const meanwhile = controls.filter((control) => overlap(attempt, control));
    return attempt.took < Math.max(QUICK, 2 * slowest(meanwhile));
  });
  expect(quick.length / refused.length).toBeGreaterThan(MOST);
}

/** After an outage: the service soon serves again, and keeps serving. */
export async function expectRecovery(crowd: Crowd): Promise<void> {
  const back = performance.now();
  await sleep(RECOVERY);
  await crowd.served(300);
  const failed = sentSince(crowd, back + RECOVERY).filter((attempt) => !isServed(attempt));
  expect(failed.map(inWords)).toEqual([]);
}

/** Stops the clients, and compares their answers with the stored plants. */
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

function slowest(attempts: readonly Attempt[]): number {
  return Math.max(0, ...attempts.map(({ took }) => took));
}

function overlap(one: Attempt, other: Attempt): boolean {
  return one.sentAt < other.sentAt + other.took && other.sentAt < one.sentAt + one.took;
}

function sentSince({ attempts }: Crowd, time: number): Attempt[] {
  return attempts.filter(({ sentAt }) => sentAt >= time);
}
