import { Module } from '@nestjs/common';
import type { DynamicModule, NestApplicationOptions, Type } from '@nestjs/common';
import { ModulesContainer, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express, NextFunction, Request, Response } from 'express';
import type { ServiceConfig } from '../config/config.js';
import { GIVEN_CONFIG } from '../config/config.module.js';
import { removeDisabled } from '../config/enabled-when.decorator.js';
import { serveDocs } from '../website/docs.js';
import { requireBasePath, respondToOptions } from '../http/server/allowed-methods.js';
import { corsOptions } from '../http/server/cors.js';
import { DATABASE_LIMITS, GIVEN_DATABASE_LIMITS } from '../database/limits.js';
import type { DatabaseLimits } from '../database/limits.js';
import { jsonBody } from '../http/body/json-body.js';
import type { HttpLimits } from '../http/server/limits.js';
import { ServiceAdapter } from '../http/server/service.adapter.js';
import { requestId } from '../http/server/request-id.js';
import { requestLog } from '../http/server/request-log.js';
import { wellFormed } from '../http/server/well-formed.js';
import { addressIn } from '../observability/client-address.js';
import { NestLog } from '../observability/logger.js';
import { GIVEN_OBSERVABILITY } from '../observability/observability.module.js';
import type { Observability } from '../observability/observability.module.js';
import { ServedRequests } from '../observability/served-requests.js';
import { serviceModuleOf } from './framework.module.js';
import { checkDeclarations } from './start-checks.js';
import { IdempotencyModule } from '../resources/idempotency/idempotency.module.js';

/** Provides what the process created before the application. */
@Module({})
class ProcessModule {}

/** How Nest creates an application: a test overrides providers first. */
export type Create = (
  root: DynamicModule,
  adapter: ServiceAdapter,
  options: NestApplicationOptions,
) => Promise<NestExpressApplication>;

const createWithNest: Create = (root, adapter, options) =>
  NestFactory.create<NestExpressApplication>(root, adapter, options);

/**
 * Builds the application, without connecting to the database, calling hooks of modules or listening on a port.
 *
 * @throws StartupError with a line for each mistake in its classes
 */
export async function createApp(
  app: Type,
  config: ServiceConfig,
  observability: Observability,
  limits: HttpLimits,
  databaseLimits: DatabaseLimits = DATABASE_LIMITS,
  create = createWithNest,
): Promise<NestExpressApplication> {
  const requests = new ServedRequests();
  const providers = [
    { provide: GIVEN_CONFIG, useValue: config },
    { provide: GIVEN_OBSERVABILITY, useValue: observability },
    { provide: GIVEN_DATABASE_LIMITS, useValue: databaseLimits },
    { provide: ServedRequests, useValue: requests },
  ];
  const created = await create(
    { module: ProcessModule, global: true, imports: [app], providers, exports: providers },
    new ServiceAdapter({ ...limits, keepAlive: config.http.keepAlive }, observability, requests),
    { bodyParser: false, logger: new NestLog(observability.logger), abortOnError: false },
  );
  setUp(created, config, observability, limits);
  await serviceModuleOf(app).configure?.(created);
  await checkDeclarations(created, app);
  removeDisabled(created, config);
  return created;
}

/** Installs middleware, CORS and docs. The application must use a {@link ServiceAdapter}. */
export function setUp(
  app: NestExpressApplication,
  config: ServiceConfig,
  { logger, metrics }: Observability,
  limits: HttpLimits,
): NestExpressApplication {
  const { basePath, bodyLimit, corsOrigins, docsEnabled, trustProxy } = config.http;
  if (trustProxy !== undefined) trustProxies(app.getHttpAdapter().getInstance(), trustProxy);

  const steps = [
    requestId,
    requestLog(logger, metrics),
    wellFormed,
    requireBasePath(basePath),
    jsonBody({ bytes: bodyLimit, idleMilliseconds: limits.bodyIdle, milliseconds: limits.body }),
  ];
  // One middleware, so that no step can forget to call `next`.
  app.use((request: Request, response: Response, next: NextFunction) => {
    for (const step of steps) step(request, response);
    next();
  });
  if (corsOrigins.length > 0) {
    const modules = [...app.get(ModulesContainer).values()];
    const isIdempotent = modules.some(({ metatype }) => metatype === IdempotencyModule);
    const options = { ...corsOptions(isIdempotent), origin: [...corsOrigins] };
    app.enableCors({ ...options, preflightContinue: true });
  }
  app.use(respondToOptions);
  if (basePath !== '') app.setGlobalPrefix(basePath);
  if (docsEnabled) serveDocs(app, config);
  return app;
}

/** Compares addresses without ports, which Express would take for client addresses. */
function trustProxies(
  app: Express,
  proxies: NonNullable<ServiceConfig['http']['trustProxy']>,
): void {
  app.set('trust proxy', proxies);
  const isTrusted = app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  app.set('trust proxy', (address: string | undefined, hop: number) =>
    isTrusted(addressIn(address), hop),
  );
}
