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
export { developCommand } from './cli/develop.js';
export { migrationCommand } from './cli/migration.js';
export { writeDocuments } from './cli/write-documents.js';
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
export type { EventStream } from './http/responses/event-stream.js';
export { MAX_FILTERS } from './http/responses/page.js';
export type { Page } from './http/responses/page.js';
export { Representation } from './http/responses/representation.js';
export { RequestPrecondition } from './http/responses/entity-tag.js';
export { RequestSignal } from './http/responses/request-signal.js';
export type { Line } from './http/body/body-lines.js';
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
export { quote } from './json/quote.js';
export { apiGeneratedOperations, apiOperations } from './resources/documents/api-operations.js';
export { ApiResource } from './resources/documents/api-resource.js';
export type { ResourceExamples } from './resources/documents/resource-docs.js';
export type {
  ChangedRows,
  ChangeRecorder,
  MakeRecorder,
  RecordedResource,
  RecordStatements,
} from './resources/recording/change-recorder.js';
export { withConstraintErrors } from './resources/properties/constraints.js';
export { DtoOf, NewOf, PatchOf, ReplacementOf } from './resources/properties/dto-of.js';
export type { Content } from './resources/properties/dto-of.js';
export type { Defaulted, Filled, Lasting, Managed } from './resources/properties/filled.js';
export { Actor, RequestActor, RequestOrigin } from './resources/recording/actor.js';
export type { Origin } from './resources/recording/actor.js';
export {
  INT64_COLUMN,
  INT64_SCHEMA,
  Int64Field,
  Int64Parameter,
  Int64Pipe,
  int64Constraint,
  /** @deprecated Use `int64Constraint`. */
  int64Constraint as int64ParameterRule,
  IsInt64,
  MAX_INT64,
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
export { IfPresent } from './resources/properties/property.js';
export {
  AreFiltersShort,
  Limit,
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
  Filter,
  Filters,
  ListContext,
  Parameter,
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
export { ServiceManaged } from './resources/properties/service-managed.js';
export { Sortable, SortableBy } from './resources/reads/sort.js';
export { IsStorableText, IsText, TEXT_SCHEMA, TextField } from './resources/properties/text.js';
export { TIMESTAMP_COLUMN, TimestampField } from './resources/properties/timestamp.js';
export { UUID_COLUMN, UuidField, UuidParameter, UuidPipe } from './resources/properties/uuid.js';
export type { ChangeContext, UpdateContext } from './resources/updates/updates.js';
