/*
 * The parts with which another program runs the service in its own process: the tests, so that what they test is the
 * program that users start (`test/support/program.ts`).
 */

export { readConfig, withDatabase } from './config/config.js';
export { IDENTITY } from './identity.js';
export { HTTP_LIMITS } from './http/server/limits.js';
export { createTracer } from './observability/create-tracer.js';
export { createLogger } from './observability/logger.js';
export { Metrics } from './observability/metrics.js';
export { NO_TRACER } from './observability/tracer.js';
export { startService } from './service.js';
