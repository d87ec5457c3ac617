/* The public interface for programs that run a service in their own process, such as tests. */

export { readConfig, withDatabase } from './config/config.js';
export { HTTP_LIMITS } from './http/server/limits.js';
export { createTracer } from './observability/create-tracer.js';
export { createLogger } from './observability/logger.js';
export { Metrics } from './observability/metrics.js';
export { NO_TRACER } from './observability/tracer.js';
/** The identity and the variables of a service, for `readConfig`. */
export { serviceModuleOf } from './app/framework.module.js';
export { startService } from './app/service.js';
export { schemaDifferences } from './testing/schema-differences.js';
export { createTestingService } from './testing/testing-service.js';
export type {
  /** @deprecated Use `TestingResponse`. */
  TestingResponse as TestingAnswer,
  TestingOptions,
  TestingResponse,
  TestingService,
} from './testing/testing-service.js';
