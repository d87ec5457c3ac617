/* What the command of a service and the checks of its conformance share with the clients. Internal: it may change in any release. */

export { Connection } from './runtime/connection.js';
export type { Call } from './runtime/connection.js';
export { eventsOf } from './runtime/event-stream.js';
export { Feed } from './runtime/feed.js';
export { Lines } from './runtime/lines.js';
export { backoff, repeat } from './runtime/repeat.js';
export { batchesOf, readImport } from './runtime/resource-import.js';
export type { Rejection } from './runtime/resource-import.js';
export { ServiceError } from './runtime/service-error.js';
export { LONGEST_WAIT } from './runtime/waits.js';
