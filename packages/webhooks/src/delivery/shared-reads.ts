import type { Feed, RecordedChange } from '@resource-service/changes';

/** What is read at once, and kept: for how many positions, and how long, in milliseconds. */
const READ = { changes: 25, kept: 8, time: 1_000 } as const;

/** No read waits for changes. */
const AT_ONCE = { limit: READ.changes, wait: 0, signal: AbortSignal.abort() };

interface Read {
  readonly changes: Promise<readonly RecordedChange[]>;
  readonly at: number;
}

/**
 * Reads of a feed for all webhooks. Nearly all are at one position, so one read serves them. There is one read at a time, however many
 * webhooks are behind: the connections are for requests.
 */
export class SharedReads {
  private readonly reads = new Map<bigint, Read>();
  private last: Promise<unknown> = Promise.resolve();

  constructor(readonly feed: Feed) {}

  /** @throws ServiceException `changes-pruned`, `position-unknown`, or as after any error of the database */
  next(position: bigint): Promise<readonly RecordedChange[]> {
    const now = performance.now();
    for (const [old, { at }] of this.reads) {
      if (now - at > READ.time || this.reads.size > READ.kept) this.reads.delete(old);
    }
    const known = this.reads.get(position);
    if (known !== undefined) return known.changes;
    const changes = this.last.then(() => this.feed.next(position, AT_ONCE));
    const read = { changes, at: now };
    this.reads.set(position, read);
    // What follows a position does not change, but there can be something soon where nothing was.
    const forget = (): void => {
      if (this.reads.get(position) === read) this.reads.delete(position);
    };
    this.last = changes.then((found) => void (found.length === 0 && forget()), forget);
    return changes;
  }
}
