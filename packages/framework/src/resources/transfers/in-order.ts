import { setImmediate as immediate } from 'node:timers/promises';
import { Sum } from '../../bounds/sum.js';

/** Limits of the items in work. The last item may exceed the size. */
export interface Window<Item> {
  /** May change over time. */
  items(): number;
  readonly size: number;
  sizeOf(item: Item): number;
}

interface Work<Result> {
  readonly size: number;
  outcome?: PromiseSettledResult<Result>;
  readonly ended: Promise<void>;
}

/**
 * Works on several items at once while further items arrive, and yields the available results in the order of the items. While the
 * window is full, no item is taken. An error, of an item or of the source, is thrown after the results of the items before and
 * the end of all work.
 *
 * @param signal when it aborts, no further item is taken, and its reason is thrown if items may be left
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<readonly Item[]>,
  window: Window<Item>,
  perform: (item: Item) => Promise<Result>,
  signal: AbortSignal,
): AsyncGenerator<readonly Result[]> {
  const source = items[Symbol.asyncIterator]();
  const read = async () => (await Promise.allSettled([source.next()]))[0];
  let next: ReturnType<typeof read> | undefined = read();
  let arrived: readonly Item[] = [];
  let taken = 0;
  const works: Work<Result>[] = [];
  const size = new Sum();
  let sourceError: PromiseRejectedResult | undefined;
  try {
    for (;;) {
      while (taken < arrived.length && works.length < window.items() && size.value < window.size) {
        if (signal.aborted) break;
        const work = start(arrived[taken++]!);
        works.push(work);
        size.add(work.size);
      }
      const further = signal.aborted || taken < arrived.length ? undefined : next;
      const waits = [works[0]?.ended, further].filter((wait) => wait !== undefined);
      if (waits.length === 0) break;
      const event = await Promise.race(waits);
      if (event === undefined) {
        const results: Result[] = [];
        for (const work of works) {
          if (work.outcome?.status !== 'fulfilled') break;
          results.push(work.outcome.value);
          size.subtract(work.size);
        }
        works.splice(0, results.length);
        yield results;
        const failed = works[0]?.outcome;
        if (failed?.status === 'rejected') throw failed.reason;
        // Results can be ready as fast as items arrive: let other requests run.
        await immediate();
      } else if (event.status === 'rejected') {
        sourceError = event;
        next = undefined;
      } else if (event.value.done === true) {
        next = undefined;
      } else {
        arrived = event.value.value;
        taken = 0;
        next = read();
      }
    }
    if (sourceError !== undefined) throw sourceError.reason;
    if (next !== undefined || taken < arrived.length) throw signal.reason;
  } finally {
    // Not awaited: the source may be waiting for an item.
    source.return?.()?.catch(() => {});
    await Promise.all(works.map(({ ended }) => ended));
  }

  function start(item: Item): Work<Result> {
    // Promise.allSettled would take twice as long.
    const work: Work<Result> = {
      size: window.sizeOf(item),
      ended: perform(item).then(
        (value) => void (work.outcome = { status: 'fulfilled', value }),
        (reason: unknown) => void (work.outcome = { status: 'rejected', reason }),
      ),
    };
    return work;
  }
}
