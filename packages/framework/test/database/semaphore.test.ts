import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { Semaphore } from '../../src/database/semaphore.js';
import { ERRORS } from '../../src/errors/common-errors.js';

const REFUSAL = ERRORS.tooManyLists;

describe('a task that finds no slot', () => {
  it('is refused at once if it must not wait, until a slot is given back', () => {
    const slots = new Semaphore(1, REFUSAL);
    const giveBack = slots.take();
    expect(() => slots.take()).toThrow(REFUSAL.message);
    giveBack();
    slots.take()();
  });

  it('is refused at once if too many wait', async () => {
    const slots = new Semaphore(1, REFUSAL);
    const giveBack = slots.take();
    const waiting = Array.from({ length: 500 }, () => slots.run(() => Promise.resolve(true)));
    await expect(slots.run(() => Promise.resolve(true))).rejects.toThrow(REFUSAL.message);
    giveBack();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
  });

  it('is refused for the slots that are taken, its own or the shared ones', async () => {
    vi.useFakeTimers();
    try {
      const shared = new Semaphore(1, ERRORS.poolExhausted);
      const slots = new Semaphore(1, REFUSAL, shared);
      const refusalOf = async (giveBack: () => void) => {
        const refusal = slots.run(() => Promise.resolve()).catch((error: unknown) => error);
        await vi.advanceTimersByTimeAsync(2_000);
        giveBack();
        return refusal;
      };
      expect(await refusalOf(shared.take())).toMatchObject({ kind: ERRORS.poolExhausted });
      expect(await refusalOf(slots.take())).toMatchObject({ kind: REFUSAL });
    } finally {
      vi.useRealTimers();
    }
  });

  it('runs when another one ends, in the order of their arrival', async () => {
    const slots = new Semaphore(1, REFUSAL);
    const order: number[] = [];
    await Promise.all(
      [1, 2, 3].map((n) =>
        slots.run(async () => {
          await sleep(5);
          order.push(n);
        }),
      ),
    );
    expect(order).toEqual([1, 2, 3]);
  });
});

describe('a holder of slots', () => {
  const take = (slots: Semaphore, holder: string): boolean => {
    try {
      slots.take(holder);
      return true;
    } catch {
      return false;
    }
  };
  const takeAll = (slots: Semaphore, holder: string): number => {
    let taken = 0;
    while (take(slots, holder)) taken += 1;
    return taken;
  };

  it('gets half of all, so that each other one gets some, however greedy those before were', () => {
    const slots = new Semaphore(16, REFUSAL);
    expect(['a', 'b', 'c', 'd', 'e', 'f'].map((holder) => takeAll(slots, holder))).toEqual([
      8, 4, 2, 1, 1, 0,
    ]);
  });

  it('gets as many as others that come at the same time', () => {
    const slots = new Semaphore(15, REFUSAL);
    const turns = Array.from({ length: 15 }, () => [take(slots, 'a'), take(slots, 'b')]);
    expect(turns.filter(([a]) => a)).toHaveLength(5);
    expect(turns.filter(([, b]) => b)).toHaveLength(5);
  });

  it('gets others for those that it gives back', () => {
    const slots = new Semaphore(4, REFUSAL);
    const giveBack = slots.take('a');
    slots.take('a');
    expect(take(slots, 'a')).toBe(false);
    giveBack();
    expect(take(slots, 'a')).toBe(true);
  });
});
