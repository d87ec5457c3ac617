import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { BUDGET, Pace } from '../src/delivery/pace.js';

afterEach(() => vi.restoreAllMocks());

/** The share of the time in which the event loop is busy. */
const keepBusy = (utilization: number) =>
  vi
    .spyOn(performance, 'eventLoopUtilization')
    .mockReturnValue({ utilization, idle: 0, active: 0 });

/** Waits for many messages at once. @returns how many were sent in each step */
async function stepsOf(pace: Pace, count: number): Promise<readonly number[]> {
  const steps: number[] = [];
  let isNew = true;
  const note = (): void => {
    if (isNew) {
      steps.push(0);
      setImmediate(() => (isNew = true));
    }
    isNew = false;
    steps[steps.length - 1]! += 1;
  };
  await Promise.all(Array.from({ length: count }, () => pace.next().then(note)));
  return steps;
}

describe('the pace of messages', () => {
  it('is slow while requests keep the event loop busy', async () => {
    keepBusy(1);
    expect(await stepsOf(new Pace(), 3 * BUDGET.least)).toEqual([2, 2, 2]);
  });

  it('grows while there is time, up to a limit, and falls at once', async () => {
    const usage = keepBusy(0.5);
    const pace = new Pace();
    expect(await stepsOf(pace, 764)).toEqual([4, 8, 16, 32, 64, 128, 256, 256]);
    usage.mockReturnValue({ utilization: 0.9, idle: 0, active: 0 });
    expect(await stepsOf(pace, 192)).toEqual([128, 64]);
  });

  it('lets nobody wait after a rest', async () => {
    keepBusy(1);
    const pace = new Pace();
    await stepsOf(pace, BUDGET.least);
    await sleep(100);
    let isSent = false;
    void pace.next().then(() => (isSent = true));
    await new Promise(setImmediate);
    expect(isSent).toBe(true);
  });
});
