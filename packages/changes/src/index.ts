/* The public interface: what a service imports. What is not here may change in any release. */

export type { FeedOptions } from './feed/feed.controller.js';
export { FeedModule } from './feed/feed.module.js';
export type { Feed } from './feed/feed.js';
export { ChangeOf } from './records/change-of.js';
export type { Change, ChangeKind } from './records/change-of.js';
export { recordChanges } from './records/record-changes.js';
