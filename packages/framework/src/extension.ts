/*
 * The public interface for packages that extend the framework, such as `@resource-service/changes`: the parts that resources are made
 * of, beside what services import. A service needs none of them.
 */

export * from './index.js';
export { requirePrincipal } from './auth/require-principal.js';
export type { Scope } from './auth/principal.js';
export type { Bulkheads } from './database/bulkheads.js';
export { isOutage, stateOf } from './database/database-failure.js';
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
export { memberColumnsOf } from './resources/dto-of.js';
export type { EntityColumn } from './resources/entity-column.js';
export { EntityColumns, rowToJson } from './resources/entity-columns.js';
export { parseInt64 } from './resources/int64.js';
export type { Key, Keyed } from './resources/key-type.js';
export type { PageQuery, UsedFilter } from './resources/page-query.js';
export { PageStatements } from './resources/page-statement.js';
export { prune } from './resources/prune.js';
export type { PruneOptions } from './resources/prune.js';
export { BY_ID } from './resources/sort.js';
export { UUID_SCHEMA } from './resources/uuid.js';
