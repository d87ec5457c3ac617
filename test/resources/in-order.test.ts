import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inOrder } from '../../src/resources/in-order.js';

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

const { signal } = new AbortController();

const SMALL = { items: () => 3, size: 10, sizeOf: (size: number) => size };

describe('work on items in order', () => {
  it('has all results in the order of the items, within the window', async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.array(fc.nat(5)),
        fc.scheduler(),
        async (items, lengths, scheduler) => {
          const running: number[] = [];
          const results: number[] = [];
          const work = scheduler.scheduleFunction(async (size: number) => size);
          const perform = async (size: number) => {
            running.push(size);
            expect(running.length).toBeLessThanOrEqual(3);
            // The last item may exceed the size of the window.
            expect(running.slice(0, -1).reduce((sum, one) => sum + one, 0)).toBeLessThan(10);
            const result = await work(size);
            return result;
          };
          const consume = async () => {
            for await (const some of inOrder(each(items, lengths), SMALL, perform, signal)) {
              running.splice(0, some.length);
              results.push(...some);
            }
          };
          await scheduler.waitFor(consume());
          expect(results).toEqual(items);
        },
      ),
    );
  });

  it('has a result before the next item arrives', async () => {
    let arrive = (): void => {};
    const source = async function* () {
      yield [1];
      await new Promise<void>((resolve) => (arrive = resolve));
      yield [2];
    };
    const results = inOrder(source(), SMALL, (item) => Promise.resolve(item), signal);
    expect(await results.next()).toMatchObject({ value: [1] });
    arrive();
    expect(await results.next()).toMatchObject({ value: [2] });
    expect(await results.next()).toMatchObject({ done: true });
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
    const results: number[] = [];
    const consume = async () => {
      const perform = (item: number) =>
        item < 3 ? Promise.resolve(item) : Promise.reject(new Error(`failure of ${item}`));
      for await (const some of inOrder(source(), SMALL, perform, signal)) results.push(...some);
    };
    await expect(consume()).rejects.toThrow('failure of 3');
    expect(results).toEqual([1, 2]);
    await turn();
    expect(isClosed).toBe(true);
  });

  it('fails with the failure of the source after the results of all items', async () => {
    const source = async function* () {
      yield [1, 2, 3];
      throw new Error('the client is gone');
    };
    const results: number[] = [];
    const consume = async () => {
      const perform = async (item: number) => {
        await turn();
        return item;
      };
      for await (const some of inOrder(source(), SMALL, perform, signal)) results.push(...some);
    };
    await expect(consume()).rejects.toThrow('the client is gone');
    expect(results).toEqual([1, 2, 3]);
  });

  it('takes no further item after an abort, and fails with its reason', async () => {
    const abort = new AbortController();
    const reason = new Error('the token has expired');
    const taken: number[] = [];
    const perform = async (item: number) => {
      taken.push(item);
      abort.abort(reason);
      await turn();
      return item;
    };
    const results: number[] = [];
    const consume = async () => {
      for await (const some of inOrder(each([1, 2, 3]), SMALL, perform, abort.signal)) {
        results.push(...some);
      }
    };
    await expect(consume()).rejects.toBe(reason);
    expect([taken, results]).toEqual([[1], [1]]);
  });

  it('succeeds if there was no further item at the abort', async () => {
    const abort = new AbortController();
    const perform = async (item: number) => {
      // The end of the items is known.
      for (let turns = 0; turns < 10; turns++) await turn();
      abort.abort();
      return item;
    };
    const results: number[] = [];
    for await (const some of inOrder(each([1]), SMALL, perform, abort.signal))
      results.push(...some);
    expect(results).toEqual([1]);
  });
});
