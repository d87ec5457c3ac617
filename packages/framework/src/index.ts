import 'reflect-metadata';
// The properties that the framework adds to Express's requests.
import './http/server/express.js';

/* The public interface for services. Everything else may change in any release. */

export { AuthGuard } from './auth/auth.guard.js';
export type { Principal } from './auth/principal.js';
export { hasScope } from './auth/principal.js';
export type { TokenVerifier } from './auth/token-verifier.js';
export { Public } from './auth/public.decorator.js';
export { RequireScope } from './auth/scopes/require-scope.decorator.js';
export { bootstrap } from './app/bootstrap.js';
export type { Config } from './config/config.js';
export { EnabledWhen } from './config/enabled-when.decorator.js';
export { buildOf } from './config/identity.js';
export type { Build, Identity } from './config/identity.js';
export { InjectVariables, Variables } from './config/inject-variables.decorator.js';
export { provideVariables } from './config/module-variables.js';
export { variable } from './config/service-variables.js';
export type { ServiceVariable } from './config/service-variables.js';
export { Locks } from './database/connections/locks.js';
export type { LockOptions } from './database/connections/locks.js';
export { createIndexOnline, dropIndexOnline } from './database/migrations/frozen/online-index.js';
export { Statements } from './database/statements.js';
export { Transactions } from './database/transactions.js';
export { ERRORS } from './errors/common-errors.js';
export { SERVICE_RANGE, allErrors, defineErrors } from './errors/error-kind.js';
export type { ErrorKind } from './errors/error-kind.js';
export { ServiceException } from './errors/service.exception.js';
export { StartupError } from './errors/startup.error.js';
export { FrameworkModule } from './app/framework.module.js';
export { Created } from './http/responses/representation.js';
export type { Precondition } from './http/responses/entity-tag.js';
export { MAX_FILTER_BYTES } from './http/responses/page.js';
export type { Page } from './http/responses/page.js';
export { Representation } from './http/responses/representation.js';
export { RequestPrecondition } from './http/responses/entity-tag.js';
export { RequestSignal } from './http/responses/request-signal.js';
export type { BodyLine } from './http/body/body-lines.js';
export {
  BodyTypes,
  DtoArrayPipe,
  DtoPipe,
  ExactDigits,
  NoOtherParameters,
  NoParametersDto,
} from './http/body/dto.pipe.js';
export { PATCH_TYPES } from './http/body/json-body.js';
export { LinesFile, NdjsonLines } from './http/body/ndjson.js';
export { Health } from './observability/health.js';
export type { HealthCheckOptions } from './observability/health.js';
export { Metrics } from './observability/metrics.js';
export { Logger } from './observability/service-logger.js';
export { ApiErrors } from './http/errors/api-errors.js';
export { ErrorFilter } from './http/errors/error.filter.js';
export { quoteText } from './json/quote.js';
export { ApiResource } from './resources/documents/api-resource.js';
export type { ResourceExamples } from './resources/documents/resource-docs.js';
export { withConstraintErrors } from './resources/properties/constraints.js';
export { DtoOf, NewOf, PatchOf, ReplacementOf } from './resources/properties/dto-of.js';
export type { Content as EntityContent } from './resources/properties/dto-of.js';
export type { Defaulted, Filled, Lasting, Managed } from './resources/properties/filled.js';
export { Actor, RequestActor } from './resources/recording/actor.js';
export {
  INT64_COLUMN,
  INT64_SCHEMA,
  Int64Field,
  Int64Parameter,
  Int64Pipe,
  int64Constraint,
  IsInt64,
} from './resources/properties/int64.js';
export { IntegerField } from './resources/properties/integer.js';
export { BooleanField } from './resources/properties/kinds/boolean.js';
export { DateField } from './resources/properties/kinds/date.js';
export { DecimalField } from './resources/properties/kinds/decimal.js';
export { DoubleField } from './resources/properties/kinds/double.js';
export { EnumField } from './resources/properties/kinds/enum.js';
export { JsonField } from './resources/properties/kinds/json.js';
export type { JsonValue } from './resources/properties/kinds/json.js';
export { TextArrayField } from './resources/properties/kinds/text-array.js';
export { ExportOf, ListOf } from './resources/reads/list-of.js';
export { related } from './resources/reads/expansion.js';
export type { Expansion, Expansions } from './resources/reads/expansion.js';
export { IfPresent } from './resources/properties/property.js';
export {
  AreFiltersShort,
  ListParameters,
  TextParameter,
  UuidListParameters,
} from './resources/reads/page-parameters.js';
export {
  contains,
  isAtLeast,
  isAtMost,
  isBetween,
  isEqual,
  isIn,
  isNull,
  startsWith,
} from './resources/reads/column-filter.js';
export type { ColumnFilter } from './resources/reads/column-filter.js';
export type {
  BindParameter,
  Filter,
  Filters,
  ListContext,
  Where,
} from './resources/reads/page-query.js';
export type { Visible } from './resources/reads/visibility.js';
export { ResourceModule } from './resources/resource.module.js';
export type { BaseRepository } from './resources/base-repository.js';
export type { CreateContext } from './resources/generated-ids/generated-create.js';
export { GeneratedIdRepository } from './resources/generated-id-repository.js';
export type { GeneratedRepository } from './resources/generated-id-repository.js';
export { Idempotency } from './resources/idempotency/idempotency.js';
export type { Performed, RepeatableRequest } from './resources/idempotency/idempotency.js';
export { IdempotencyModule } from './resources/idempotency/idempotency.module.js';
export { idempotencyErrors } from './resources/idempotency/idempotency-errors.js';
export {
  ApiIdempotencyKey,
  RequestIdempotencyKey,
} from './resources/idempotency/request-idempotency-key.decorator.js';
export type { GeneratedResourceOptions, ResourceOptions } from './resources/resource.js';
export { ResourceRepository } from './resources/resource-repository.js';
export type { ChosenIdRepository } from './resources/resource-repository.js';
export type { Resources } from './resources/resources.js';
export { ServiceManaged } from './resources/properties/kind.js';
export { Sortable, SortableBy } from './resources/reads/sort.js';
export { IsStorableText, IsText, TEXT_SCHEMA, TextField } from './resources/properties/text.js';
export { TIMESTAMP_COLUMN, TimestampField } from './resources/properties/timestamp.js';
export { UUID_COLUMN, UuidField, UuidParameter, UuidPipe } from './resources/properties/uuid.js';
export type { ChangeContext, UpdateContext } from './resources/updates/updates.js';

/* Names of earlier versions, which this version still has. Only at the name itself do editors see that it is deprecated. */

export {
  /** @deprecated Import it from `@resource-service/framework/cli`. */
  developCommand,
} from './cli/develop.js';
export {
  /** @deprecated Import it from `@resource-service/framework/cli`. */
  migrationCommand,
} from './cli/migration.js';
export {
  /** @deprecated Import it from `@resource-service/framework/cli`. */
  writeDocuments,
} from './cli/write-documents.js';
export type {
  /** @deprecated Use `BodyLine`. */
  BodyLine as Line,
} from './http/body/body-lines.js';
export type {
  /** @deprecated Import it from `@resource-service/framework/extension`. */
  EventStream,
} from './http/responses/event-stream.js';
export {
  /** @deprecated Use `MAX_FILTER_BYTES`. */
  MAX_FILTER_BYTES as MAX_FILTERS,
} from './http/responses/page.js';
export {
  /** @deprecated Use `quoteText`. */
  quoteText as quote,
} from './json/quote.js';
export { apiGeneratedOperations, apiOperations } from './resources/documents/api-operations.js';
export {
  /** @deprecated Use `int64Constraint`. */
  int64Constraint as int64ParameterRule,
  /** @deprecated Import it from `@resource-service/framework/extension`. */
  MAX_INT64,
} from './resources/properties/int64.js';
export {
  /** @deprecated Import `LimitParameter` from `@resource-service/framework/extension`. */
  LimitParameter as Limit,
} from './resources/reads/page-parameters.js';
export type {
  /** @deprecated Use `BindParameter`. */
  BindParameter as Parameter,
} from './resources/reads/page-query.js';
export { RequestOrigin } from './resources/recording/actor.js';
export type { Origin } from './resources/recording/actor.js';
