import type { Type } from '@nestjs/common';
import {
  createLogger,
  HTTP_LIMITS,
  Metrics,
  NO_TRACER,
  readConfig,
  startService,
  withDatabase,
} from '../../src/testing.js';
import type { DatabaseLimits } from '../../src/database/limits.js';
import { serviceModuleOf } from '../../src/app/framework.module.js';
import type { Service } from '../../src/app/service.js';
import { IDENTITY } from './identity.js';
import type { TestDatabase } from './test-database.js';
import { defaultLimits } from './patience.js';
import { TOKEN } from './tokens.js';

/** Starts a module with {@link IDENTITY} as a service that accepts {@link TOKEN}. */
export function start(
  app: Type,
  { url }: TestDatabase,
  environment: Readonly<Record<string, string>> = {},
  limits: Partial<DatabaseLimits> = {},
  logger = createLogger('silent'),
): Promise<Service> {
  const ports = { PORT: '0', MANAGEMENT_PORT: '0' };
  const given = { AUTH_TOKEN: TOKEN, ...ports, ...environment };
  return startService(
    app,
    withDatabase(readConfig(IDENTITY, given, serviceModuleOf(app).variables), url),
    { logger, metrics: new Metrics(IDENTITY), tracer: NO_TRACER },
    new AbortController().signal,
    HTTP_LIMITS,
    { ...defaultLimits(), ...limits },
  );
}
