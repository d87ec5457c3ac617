/** Checks that a service keeps the promises of the framework. */

export type { OpenApiDocument } from '@resource-service/client/document';
export { checks } from './checks.js';
export type { Check, Result } from './check.js';
export type { Exchange } from './exchange.js';
export { ServiceProcess } from './service-process.js';
export { TestedService } from './tested-service.js';
export type { ServiceOptions } from './tested-service.js';
