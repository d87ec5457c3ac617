import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from './app.setup.js';
import { readConfig, withDatabase } from '../config/config.js';
import { withExamples } from '../config/service-variables.js';
import type { DatabaseSchema } from '../database/data-source.js';
import { SCHEMA } from '../database/schema.module.js';
import { serviceModuleOf } from './framework.module.js';
import { HTTP_LIMITS } from '../http/server/limits.js';
import { createLogger } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { NO_TRACER } from '../observability/tracer.js';

/** The application with default configuration and no database, to inspect it. */
export function createDetachedApp(app: Type): Promise<NestExpressApplication> {
  const { identity, variables } = serviceModuleOf(app);
  const environment = withExamples(variables, { DOCS_ENABLED: 'false' });
  const config = readConfig(identity, environment, variables);
  return createApp(
    app,
    withDatabase(config, 'postgres://localhost'),
    { logger: createLogger('silent'), metrics: new Metrics(identity), tracer: NO_TRACER },
    HTTP_LIMITS,
  );
}

export async function schemaOf(app: Type): Promise<DatabaseSchema> {
  const detached = await createDetachedApp(app);
  try {
    return detached.get<DatabaseSchema>(SCHEMA);
  } finally {
    await detached.close();
  }
}
