/*
 * The public interface for packages that extend the framework, such as `@resource-service/changes`. Services need only
 * `index.ts`.
 */

export * from './index.js';
export { requirePrincipal } from './auth/require-principal.js';
export type { Scope } from './auth/principal.js';
export type { Bulkheads } from './database/bulkheads.js';
export { isOutage, stateOf } from './database/database-error.js';
export { Semaphore } from './database/semaphore.js';
export { prepared } from './database/statements.js';
export type { Statement } from './database/statements.js';
export { setTableNeeds } from './database/table-needs.js';
export type { TableNeeds } from './database/table-needs.js';
export type { ErrorKind } from './errors/error-kind.js';
export { EventStream } from './http/answers/event-stream.js';
export { Page } from './http/answers/page.js';
export type { PageParameters } from './http/answers/page.js';
export { describeFailure } from './observability/describe-failure.js';
export type { Metrics } from './observability/metrics.js';
export { memberColumnsOf } from './resources/properties/dto-of.js';
export type { EntityColumn } from './resources/properties/entity-column.js';
export { EntityColumns, rowToJson } from './resources/properties/entity-columns.js';
export { parseInt64 } from './resources/properties/int64.js';
export type { Key, Keyed } from './resources/properties/key-type.js';
export type { PageQuery, UsedFilter } from './resources/reads/page-query.js';
export { PageStatements } from './resources/reads/page-statement.js';
export { prune } from './database/prune.js';
export type { PruneOptions } from './database/prune.js';
export { BY_ID } from './resources/reads/sort.js';
export { UUID_SCHEMA } from './resources/properties/uuid.js';
