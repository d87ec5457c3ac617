import { setImmediate as immediate } from 'node:timers/promises';
import { Sum } from '../../bounds/sum.js';
import { Rejected } from '../../database/waiting-item.js';

/** Small groups let other requests run between them. The batcher stores several together. */
const MAX_GROUPS = 8;

/** Limits of the items in work. The last group may exceed the size. */
export interface Window<Item> {
  /** In work. May change over time. */
  items(): number;
  readonly size: number;
  sizeOf(item: Item): number;
}

interface Group<Result> {
  readonly items: number;
  readonly size: number;
  results: readonly (Result | Rejected)[];
  readonly ended: Promise<void>;
}

/**
 * Works on groups of items while further items arrive, and yields the results of each group in the order of the items. While the
 * window is full, no item is taken. An error, of an item or of the source, is thrown after the results of the items before and
 * the end of all work.
 *
 * @param signal when it aborts, no further item is taken, and its reason is thrown if items may be left
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<readonly Item[]>,
  window: Window<Item>,
  perform: (items: readonly Item[]) => Promise<readonly (Result | Rejected)[]>,
  signal: AbortSignal,
): AsyncGenerator<readonly Result[]> {
  const source = items[Symbol.asyncIterator]();
  const read = async () => (await Promise.allSettled([source.next()]))[0];
  let next: ReturnType<typeof read> | undefined = read();
  let arrived: readonly Item[] = [];
  let taken = 0;
  const groups: Group<Result>[] = [];
  const inWork = new Sum();
  const size = new Sum();
  let sourceError: PromiseRejectedResult | undefined;
  try {
    for (;;) {
      while (taken < arrived.length && groups.length < MAX_GROUPS && size.value < window.size) {
        const limit = window.items();
        const free = limit - inWork.value;
        if (signal.aborted || free <= 0) break;
        const some = arrived.slice(taken, taken + Math.min(free, Math.ceil(limit / MAX_GROUPS)));
        taken += some.length;
        const group = start(some);
        groups.push(group);
        inWork.add(group.items);
        size.add(group.size);
      }
      const further = signal.aborted || taken < arrived.length ? undefined : next;
      const waits = [groups[0]?.ended, further].filter((wait) => wait !== undefined);
      if (waits.length === 0) break;
      const event = await Promise.race(waits);
      if (event === undefined) {
        const { results, items: ended, size: done } = groups.shift()!;
        inWork.subtract(ended);
        size.subtract(done);
        const error = results.find((result) => result instanceof Rejected);
        yield (
          error === undefined ? results : results.slice(0, results.indexOf(error))
        ) as readonly Result[];
        if (error !== undefined) throw error.reason;
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
    await Promise.all(groups.map(({ ended }) => ended));
  }

  function start(some: readonly Item[]): Group<Result> {
    const group: Group<Result> = {
      items: some.length,
      size: some.reduce((sum, item) => sum + window.sizeOf(item), 0),
      results: [],
      ended: perform(some).then(
        (results) => void (group.results = results),
        (reason: unknown) => void (group.results = [new Rejected(reason)]),
      ),
    };
    return group;
  }
}
