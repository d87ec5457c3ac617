/*
 * What packages that extend the framework use besides `index.ts`, such as `@resource-service/changes`.
 */

/** The principal of a request, for code that runs only behind the guard. */
export { requirePrincipal } from './auth/require-principal.js';
/** What `@RequireScope()` takes. */
export type { Scope } from './auth/principal.js';
/** Checks classes of providers when the service starts, for decorators. */
export { checkAtStart } from './app/class-checks.js';
export type { ClassCheck, ClassToCheck } from './app/class-checks.js';
/** Whether the database cannot serve now, as opposed to a wrong statement. */
export { isOutage } from './database/database-error.js';
/** The SQLSTATE of an error of the pool or the driver. */
export { stateOf } from './database/database-error.js';
/** Removes old rows of a table each minute, in steps. */
export { prune } from './database/prune.js';
/** Limits how many tasks run at once. `bulkheads.share()` makes one for a part of the connections. */
export { Semaphore } from './database/semaphore.js';
/** Prepares a constant text, for `Statements`. */
export { prepared } from './database/statements.js';
/** Says what the table of an entity needs besides its columns: privileges, functions, a check. */
export { setTableNeeds } from './database/table-needs.js';
export type { TableCreation, TableNeeds } from './database/table-needs.js';
/** The names of the tables of entities. */
export { tableNames } from './database/data-source.js';
/** A response that lasts: `text/event-stream`. */
export { EventStream } from './http/responses/event-stream.js';
/** A page of a list, and the parameters that ask for the next one. */
export { Page } from './http/responses/page.js';
export type { PageParameters } from './http/responses/page.js';
/** An error in one line for the log, without values of users. */
export { describeError } from './observability/describe-error.js';
/** Injection token of the log of the process, a logger of pino. */
export { LOGGER } from './observability/logger.js';
/** The declared columns of an entity whose properties are in its DTO. */
export { propertyColumnsOf } from './resources/properties/dto-of.js';
/** The columns of an entity as SQL and as JSON, for tables that are no resource of their own. */
export { EntityColumns, rowToJson } from './resources/properties/entity-columns.js';
export type { EntityColumn } from './resources/properties/entity-column.js';
/** Reads an id or a position from text; `undefined` if it is none. */
export { MAX_INT64, parseInt64 } from './resources/properties/int64.js';
/** What identifies a row, and an entity with it. */
export type { Key, Keyed } from './resources/properties/key-type.js';
/** The statements for pages of a table, in the order of its key. */
export { LimitParameter } from './resources/reads/page-parameters.js';
export { PageStatements } from './resources/reads/page-statement.js';
export type { UsedFilter } from './resources/reads/page-query.js';
export { BY_ID } from './resources/reads/sort.js';
/** What a service sends by itself, in its OpenAPI document. */
export { DOCUMENTED_WEBHOOKS } from './openapi/document-webhooks.js';
export type { DocumentedWebhooks } from './openapi/document-webhooks.js';
/** What records the changes of a resource in the statements that make them. */
export type {
  ChangedRows,
  ChangeRecorder,
  MakeRecorder,
  RecordedResource,
  RecordStatements,
} from './resources/recording/change-recorder.js';
/** How a UUID is documented, like `INT64_SCHEMA`. */
export { UUID_SCHEMA } from './resources/properties/uuid.js';
