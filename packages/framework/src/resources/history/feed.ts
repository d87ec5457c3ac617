import { EventStream } from '../../http/answers/event-stream.js';
import type { Page, PageParameters } from '../../http/answers/page.js';
import type { Key } from '../key-type.js';
import type { Followers, Following } from './followers.js';
import type { History } from './history.js';

/** The changes of a resource, as clients read them. */
export class Feed {
  constructor(
    private readonly history: History,
    private readonly followers: Followers,
  ) {}

  /**
   * @param id only the changes of this row
   * @throws ServiceException `changes-pruned`, `position-unknown`, `too-many-lists`
   */
  list<Query extends PageParameters<bigint>>(query: Query, id?: Key): Promise<Page<Query>> {
    return this.history.list(query, id);
  }

  /** The position of the newest change, 0 if there is none. */
  async latest(): Promise<bigint> {
    const { lowWatermark } = await this.history.startOf(undefined);
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
