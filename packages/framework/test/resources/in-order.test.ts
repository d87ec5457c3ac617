import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Rejected } from '../../src/database/waiting-item.js';
import { inOrder } from '../../src/resources/transfers/in-order.js';

/** Yields the items in pieces of some lengths. */
async function* each<Item>(
  items: readonly Item[],
  lengths: readonly number[] = [],
): AsyncGenerator<readonly Item[]> {
  let at = 0;
  for (const length of [...lengths, items.length]) {
    yield items.slice(at, at + length);
    at += length;
  }
}

/** Eight groups of three items. */
const SMALL = { items: () => 24, size: 10, sizeOf: (size: number) => size };

/** Works on items to the end. */
async function work(
  items: AsyncIterable<readonly number[]>,
  perform: (items: readonly number[]) => Promise<readonly (number | Rejected)[]>,
  { signal } = new AbortController(),
) {
  const results: number[] = [];
  let failure: unknown;
  try {
    for await (const some of inOrder(items, SMALL, perform, signal)) results.push(...some);
  } catch (error) {
    failure = error;
  }
  return { results, failure };
}

describe('work on items in order', () => {
  it('has all results in the order of the items, within the window', async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.array(fc.nat(5)),
        fc.scheduler(),
        async (items, lengths, scheduler) => {
          const running: (readonly number[])[] = [];
          const wait = scheduler.scheduleFunction(async (some: readonly number[]) => some);
          const perform = async (some: readonly number[]) => {
            running.push(some);
            expect(running.length).toBeLessThanOrEqual(8);
            expect(some.length).toBeLessThanOrEqual(3);
            // The last group may exceed the size of the window.
            const before = running.slice(0, -1).flat();
            expect(before.reduce((sum, one) => sum + one, 0)).toBeLessThan(10);
            return wait(some);
          };
          const consume = async () => {
            const results: number[] = [];
            const { signal } = new AbortController();
            for await (const some of inOrder(each(items, lengths), SMALL, perform, signal)) {
              running.shift();
              results.push(...some);
            }
            return results;
          };
          expect(await scheduler.waitFor(consume())).toEqual(items);
        },
      ),
    );
  });

  it('takes no items beyond a window that has become smaller', async () => {
    let limit = 24;
    let inWork = 0;
    const perform = async (some: readonly number[]) => {
      inWork += some.length;
      expect(inWork).toBeLessThanOrEqual(limit);
      await turn();
      return some;
    };
    const items = Array.from({ length: 100 }, () => 0);
    const { signal } = new AbortController();
    const window = { ...SMALL, items: () => limit };
    for await (const some of inOrder(each(items), window, perform, signal)) {
      inWork -= some.length;
      // The groups that were taken before may be more than fits now.
      limit = Math.max(5, inWork);
    }
    expect(inWork).toBe(0);
  });

  it('fails after the results before the failure, and closes the source', async () => {
    let isClosed = false;
    const source = async function* () {
      try {
        yield [1, 2, 3, 4, 5, 6];
      } finally {
        isClosed = true;
      }
    };
    const failure = new Error('failure of 3');
    const perform = (items: readonly number[]) =>
      turn(items.map((item) => (item < 5 ? item : new Rejected(failure))));
    expect(await work(source(), perform)).toEqual({ results: [1, 2, 3, 4], failure });
    await turn();
    expect(isClosed).toBe(true);
  });

  it('fails with the failure of the source after the results of all items', async () => {
    const failure = new Error('the client is gone');
    const source = async function* () {
      yield [1, 2, 3];
      throw failure;
    };
    expect(await work(source(), turn)).toEqual({ results: [1, 2, 3], failure });
  });

  it('fails with the failure of a whole group after the results before', async () => {
    const failure = new Error('a bug');
    const perform = (items: readonly number[]) =>
      items.includes(4) ? Promise.reject(failure) : turn(items);
    expect(await work(each([1, 2, 3, 4]), perform)).toEqual({ results: [1, 2, 3], failure });
  });

  it('takes no further item after an abort, and fails with its reason', async () => {
    const abort = new AbortController();
    const failure = new Error('the token has expired');
    const taken: number[] = [];
    const perform = (items: readonly number[]) => {
      taken.push(...items);
      abort.abort(failure);
      return turn(items);
    };
    const results = [1, 2, 3];
    expect(await work(each([1, 2, 3, 4, 5]), perform, abort)).toEqual({ results, failure });
    expect(taken).toEqual(results);
  });

  it('succeeds if there was no further item at the abort', async () => {
    const abort = new AbortController();
    const perform = async (items: readonly number[]) => {
      // The end of the items is known.
      for (let turns = 0; turns < 10; turns++) await turn();
      abort.abort();
      return items;
    };
    expect(await work(each([1]), perform, abort)).toEqual({ results: [1], failure: undefined });
  });
});
