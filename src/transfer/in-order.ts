/** Limits of the items that are worked on at once. The last item may exceed the size. */
export interface Window<Item> {
  readonly items: number;
  readonly size: number;
  sizeOf(item: Item): number;
}

/**
 * Works on several items at once while further items arrive, and yields the results in the order of the items. While
 * the window is full, no item is taken.
 *
 * @param perform starts the work on an item. A failure ends the loop, after the results of the items before
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  window: Window<Item>,
  perform: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const source = items[Symbol.asyncIterator]();
  const read = () => handled(source.next().then((step) => ({ step })));
  const start = (item: Item) => ({
    done: handled(perform(item).then((result) => ({ result }))),
    size: window.sizeOf(item),
  });
  const running: ReturnType<typeof start>[] = [];
  let size = 0;
  let next: ReturnType<typeof read> | undefined = read();
  try {
    for (;;) {
      const [oldest] = running;
      const isFull = running.length >= window.items || size >= window.size;
      if (oldest === undefined && next === undefined) return;
      const waits = [oldest?.done, isFull ? undefined : next].filter((wait) => wait !== undefined);
      const event = await Promise.race(waits);
      if ('result' in event) {
        size -= running.shift()!.size;
        yield event.result;
      } else if (event.step.done === true) {
        next = undefined;
      } else {
        const started = start(event.step.value);
        size += started.size;
        running.push(started);
        next = read();
      }
    }
  } finally {
    // Not awaited: the source may be waiting for an item.
    void handled(Promise.resolve(source.return?.()));
  }
}

/** Nobody may be waiting for a promise when it fails. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
