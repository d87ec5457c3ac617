import type { FeedDocs } from './feed.dto.js';
import type { Feed } from './feed.js';

/** A feed that clients read, as `FeedModule` offers it: for packages that deliver its changes in another way. */
export class PublishedFeed {
  constructor(
    readonly feed: Feed,
    readonly docs: Pick<FeedDocs, 'noun' | 'property' | 'stored' | 'example'>,
  ) {}
}
