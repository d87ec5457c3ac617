import { EventStream, Page } from '@resource-service/framework/extension';
import type { Key, PageParameters, Semaphore } from '@resource-service/framework/extension';
import type { ChangeReader } from './change-reader.js';
import type { Followers, Following } from './followers.js';
import type { RecordedChange } from './recorded-change.js';

/** Maximum number of bytes in a page, unless its first item has more. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** Maximum number of bytes that {@link Feed.next} returns, unless the first change has more. */
const MAX_NEXT_BYTES = 1024 * 1024;

/** The longest delay of a timer, in milliseconds: a longer one ends at once. */
const MAX_WAIT = 2 ** 31 - 1;

export interface NextChanges {
  /** Maximum number of changes, up to 1,000. */
  readonly limit: number;
  /** Milliseconds to wait until there is one. */
  readonly wait: number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/** The parameters of a page of changes. */
export interface ChangeParameters extends PageParameters<bigint> {
  /** Changes without a record up to this position may be missing. */
  readonly acceptGap?: bigint | undefined;
}

/** The changes of a resource, as clients read them. */
export class Feed {
  constructor(
    private readonly reader: ChangeReader,
    private readonly followers: Followers,
    private readonly slots: Semaphore,
  ) {}

  /**
   * A page.
   *
   * @param id only the changes of this row
   * @throws ServiceException `no-such-path` if changes are not recorded, `changes-pruned`, `position-unknown`,
   *   `too-many-lists`
   */
  async list<Query extends ChangeParameters>(query: Query, id?: Key): Promise<Page<Query>> {
    const { limit } = query;
    const start = await this.reader.startOf(query.after, query.acceptGap);
    const { after, isFirst, acceptGap, lowWatermark: until } = start;
    if (after >= until) return new Page([], undefined, query);
    const wanted = { after, isFirst, acceptGap, until, id, limit, maxBytes: MAX_PAGE_BYTES };
    const { changes, isWhole } = await this.slots.run(() => this.reader.pages.read(wanted));
    const position = isWhole ? undefined : changes.at(-1)?.position;
    return new Page(
      changes.map(({ json }) => json),
      position,
      query,
    );
  }

  /** The position of the newest change, 0 if there is none. */
  async latest(): Promise<bigint> {
    const { lowWatermark } = await this.reader.startOf(undefined);
    return lowWatermark;
  }

  /** The position before the oldest change that is left. */
  async oldest(): Promise<bigint> {
    const { after } = await this.reader.startOf(undefined);
    return after;
  }

  /**
   * The next changes after a position, for a reader in this process that remembers how far it has come. Readers that wait share the
   * reads of the clients that follow.
   *
   * @returns none if there were none until the end of the wait
   * @throws ServiceException like {@link list}
   */
  async next(
    position: bigint,
    { limit, wait, signal }: NextChanges,
  ): Promise<readonly RecordedChange[]> {
    const end = new AbortController();
    const abort = (): void => end.abort();
    signal.addEventListener('abort', abort);
    const timer = setTimeout(abort, Math.min(wait, MAX_WAIT));
    try {
      for (;;) {
        const start = await this.reader.startOf(position);
        const { after, isFirst, lowWatermark: until } = start;
        if (after < until) {
          const query = { after, isFirst, until, limit, maxBytes: MAX_NEXT_BYTES };
          const { changes } = await this.slots.run(() => this.reader.pages.objects(query));
          if (changes.length > 0) return changes;
        }
        if (end.signal.aborted || signal.aborted) return [];
        await this.followers.changed(start, end.signal);
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  /** The change with a position; `undefined` if there is none, or none is left. */
  async find(position: bigint): Promise<RecordedChange | undefined> {
    const query = { after: position - 1n, isFirst: true, until: position, limit: 1 };
    const { changes } = await this.slots.run(() =>
      this.reader.pages.objects({ ...query, maxBytes: MAX_NEXT_BYTES }),
    );
    return changes[0];
  }

  /**
   * Sends changes until the client leaves, its token is no longer valid, or the service shuts down.
   *
   * @throws ServiceException `changes-pruned`, `position-unknown`, `too-many-followers`
   */
  async follow(following: Following): Promise<EventStream> {
    return new EventStream(await this.followers.follow(following));
  }
}
