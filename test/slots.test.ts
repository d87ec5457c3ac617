import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { Slots } from '../src/database/slots.js';
import { ERRORS } from '../src/errors/common-errors.js';

const REFUSAL = ERRORS.tooManyLists;

describe('a task that finds no slot', () => {
  it('is refused at once if it must not wait, until a slot is given back', () => {
    const slots = new Slots(1, REFUSAL);
    const giveBack = slots.take();
    expect(() => slots.take()).toThrow(REFUSAL.message);
    giveBack();
    slots.take()();
  });

  it('is refused at once if too many wait', async () => {
    const slots = new Slots(1, REFUSAL);
    const giveBack = slots.take();
    const waiting = Array.from({ length: 500 }, () => slots.run(() => Promise.resolve(true)));
    await expect(slots.run(() => Promise.resolve(true))).rejects.toThrow(REFUSAL.message);
    giveBack();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
  });

  it('is refused for the slots that are taken, its own or the shared ones', async () => {
    vi.useFakeTimers();
    try {
      const shared = new Slots(1, ERRORS.poolExhausted);
      const slots = new Slots(1, REFUSAL, shared);
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
    const slots = new Slots(1, REFUSAL);
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
