/* The public interface: what a service imports. What is not here may change in any release. */

export { ChangeConsumers } from './consumers/change-consumers.js';
export type { ConsumerOptions } from './consumers/change-consumers.js';
export { ChangeConsumersModule } from './consumers/change-consumers.module.js';
export { OnChange } from './consumers/on-change.decorator.js';
export type { OnChangeOptions } from './consumers/on-change.decorator.js';
export type { FeedOptions } from './feed/feed.controller.js';
export { FeedModule } from './feed/feed.module.js';
export type { ChangeParameters, Feed, NextChanges } from './feed/feed.js';
export { MissingChanges } from './feed/position.js';
export { PublishedFeed } from './feed/published-feed.js';
export type { RecordedChange } from './feed/recorded-change.js';
export { ChangeOf } from './records/change-of.js';
export type { Change, ChangeKind } from './records/change-of.js';
export { recordChanges } from './records/record-changes.js';
