import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { AppModule } from './app.module.js';
import type { ServiceConfig } from './config/config.js';
import { serveDocs } from './docs/docs.js';
import { answerOptions } from './http/allowed-methods.js';
import { below } from './http/base-path.js';
import { jsonBody } from './http/json-body.js';
import type { HttpLimits } from './http/limits.js';
import { PlantStoreAdapter } from './http/plant-store.adapter.js';
import { requestId } from './http/request-id.js';
import { requestLog } from './http/request-log.js';
import { wellFormed } from './http/well-formed.js';
import { Draining } from './http/draining.js';
import { NestLog } from './observability/logger.js';
import type { Observability } from './observability/observability.module.js';

/** Builds the application, complete except for its database connection and its port. */
export async function createApp(
  config: ServiceConfig,
  observability: Observability,
  limits: HttpLimits,
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot(config, observability),
    new PlantStoreAdapter(limits, observability),
    { bodyParser: false, logger: new NestLog(observability.logger), abortOnError: false },
  );
  return setUp(app, config, observability, limits);
}

/** Puts the edge in front of the routes of an application on a {@link PlantStoreAdapter}. */
export async function setUp(
  app: NestExpressApplication,
  config: ServiceConfig,
  { logger, metrics }: Observability,
  limits: HttpLimits,
): Promise<NestExpressApplication> {
  const { basePath, bodyLimit, corsOrigins, docsEnabled, trustProxy } = config.http;
  if (trustProxy !== undefined) app.set('trust proxy', trustProxy);

  const steps = [
    requestId,
    app.get(Draining).track,
    requestLog(logger, metrics),
    wellFormed,
    below(basePath),
    jsonBody({ bytes: bodyLimit, idleMilliseconds: limits.bodyIdle, milliseconds: limits.body }),
  ];
  // One middleware, so that no step can forget to call the next one.
  app.use((request: Request, response: Response, next: NextFunction) => {
    for (const step of steps) step(request, response);
    next();
  });
  if (corsOrigins.length > 0) {
    app.enableCors({
      origin: [...corsOrigins],
      allowedHeaders: ['Authorization', 'Content-Type', 'X-Request-Id'],
      exposedHeaders: ['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
      maxAge: 600,
      preflightContinue: true,
    });
  }
  app.use(answerOptions);
  if (basePath !== '') app.setGlobalPrefix(basePath);
  if (docsEnabled) serveDocs(app, config);
  await app.init();
  return app;
}
