import { EventStream } from '@resource-service/framework/extension';
import type { Key, Page, PageParameters } from '@resource-service/framework/extension';
import type { ChangeReader } from './change-reader.js';
import type { Followers, Following } from './followers.js';

/** The changes of a resource, as clients read them. */
export class Feed {
  constructor(
    private readonly reader: ChangeReader,
    private readonly followers: Followers,
  ) {}

  /**
   * @param id only the changes of this row
   * @throws ServiceException `changes-pruned`, `position-unknown`, `too-many-lists`
   */
  list<Query extends PageParameters<bigint>>(query: Query, id?: Key): Promise<Page<Query>> {
    return this.reader.list(query, id);
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
