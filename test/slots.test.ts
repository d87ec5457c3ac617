import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ERRORS } from '../src/errors/common-errors.js';
import { Slots } from '../src/database/slots.js';

/** A task that ends when the test says so. */
class Task {
  isRunning = false;
  end = (): void => {};

  readonly run = (): Promise<string> => {
    this.isRunning = true;
    return new Promise((resolve) => {
      this.end = () => {
        this.isRunning = false;
        resolve('done');
      };
    });
  };
}

function tasks(count: number): Task[] {
  return Array.from({ length: count }, () => new Task());
}

function running(all: readonly Task[]): number[] {
  return all.flatMap(({ isRunning }, index) => (isRunning ? [index] : []));
}

/** Lets every promise settle that can. */
async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

describe('slots', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it('run as many tasks at once as there are, and the others in the order of their arrival', async () => {
    const slots = new Slots(2, ERRORS.tooManyLists);
    const all = tasks(4);
    const results = all.map(({ run }) => slots.run(run));
    await settle();
    expect(running(all)).toEqual([0, 1]);
    all[1]!.end();
    await settle();
    expect(running(all)).toEqual([0, 2]);
    all[0]!.end();
    await settle();
    expect(running(all)).toEqual([2, 3]);
    all[2]!.end();
    all[3]!.end();
    expect(await Promise.all(results)).toEqual(['done', 'done', 'done', 'done']);
  });

  it('refuse a task that has waited for 2 seconds, with their own code', async () => {
    const slots = new Slots(1, ERRORS.tooManyLists);
    const [first, late, next] = tasks(3) as [Task, Task, Task];
    const done = slots.run(first.run);
    const refused = slots.run(late.run).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1_999);
    const waits = slots.run(next.run);
    await vi.advanceTimersByTimeAsync(1);
    expect(await refused).toMatchObject({ kind: ERRORS.tooManyLists });
    first.end();
    await done;
    await settle();
    expect([late.isRunning, next.isRunning]).toEqual([false, true]);
    next.end();
    await waits;
  });

  it('refuse at once what is more than 500 waiting tasks', async () => {
    const slots = new Slots(1, ERRORS.tooManyChanges);
    const all = tasks(501);
    const results = all.map(({ run }) => slots.run(run));
    await expect(slots.run(new Task().run)).rejects.toMatchObject({ kind: ERRORS.tooManyChanges });
    for (const task of all) {
      await settle();
      task.end();
    }
    expect(new Set(await Promise.all(results))).toEqual(new Set(['done']));
  });

  it('are given back by a task that fails', async () => {
    const slots = new Slots(1, ERRORS.tooManyLists);
    const failure = new Error('failed');
    await expect(slots.run(() => Promise.reject(failure))).rejects.toBe(failure);
    expect(await slots.run(() => Promise.resolve('done'))).toBe('done');
  });

  it('of several kinds share further slots, and each task is refused with the code of its kind', async () => {
    const shared = new Slots(2, ERRORS.poolExhausted);
    const lists = new Slots(2, ERRORS.tooManyLists, shared);
    const searches = new Slots(2, ERRORS.tooManySearches, shared);
    const all = tasks(4);
    const results = [
      ...all.slice(0, 2).map(({ run }) => searches.run(run)),
      ...all.slice(2).map(({ run }) => lists.run(run)),
    ];
    const refused = results[3]!.catch((error: unknown) => error);
    await settle();
    expect(running(all)).toEqual([0, 1]);
    await vi.advanceTimersByTimeAsync(1_000);
    all[0]!.end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await refused).toMatchObject({ kind: ERRORS.tooManyLists });
    expect(running(all)).toEqual([1, 2]);
    all[1]!.end();
    all[2]!.end();
    await Promise.all(results.slice(0, 3));
    expect(await lists.run(() => Promise.resolve('done'))).toBe('done');
  });

  it('can be taken without a wait, until all are taken', () => {
    const slots = new Slots(2, ERRORS.tooManyImports);
    const giveBack = slots.take();
    slots.take();
    expect(() => slots.take()).toThrow(expect.objectContaining({ kind: ERRORS.tooManyImports }));
    giveBack();
    expect(() => slots.take()).not.toThrow();
  });
});
