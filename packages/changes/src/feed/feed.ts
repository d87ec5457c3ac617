import { EventStream, Page } from '@resource-service/framework/extension';
import type { Key, PageParameters, Semaphore } from '@resource-service/framework/extension';
import type { ChangeReader } from './change-reader.js';
import type { Followers, Following } from './followers.js';

/** Maximum number of bytes in a page, unless its first item has more. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

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
  async list<Query extends PageParameters<bigint>>(query: Query, id?: Key): Promise<Page<Query>> {
    const { after, isFirst, lowWatermark: until } = await this.reader.startOf(query.after);
    if (after >= until) return new Page([], undefined, query);
    const wanted = { after, isFirst, until, id, limit: query.limit, maxBytes: MAX_PAGE_BYTES };
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

  /**
   * Sends changes until the client leaves, its token is no longer valid, or the service shuts down.
   *
   * @throws ServiceException `changes-pruned`, `position-unknown`, `too-many-followers`
   */
  async follow(following: Following): Promise<EventStream> {
    return new EventStream(await this.followers.follow(following));
  }
}
