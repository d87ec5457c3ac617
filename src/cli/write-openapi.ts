import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import { pino } from 'pino';
import { createApp } from '../app.setup.js';
import { readConfig, withDatabase } from '../config/config.js';
import { HTTP_LIMITS } from '../http/server/limits.js';
import { IDENTITY } from '../identity.js';
import { openApiText } from '../openapi/openapi.js';
import { Metrics } from '../observability/metrics.js';
import { NO_TRACER } from '../observability/tracer.js';

/* `npm run openapi`: writes the OpenAPI document of the service, without a database. */

const [file = 'openapi.json'] = process.argv.slice(2);
const config = withDatabase(
  readConfig(IDENTITY, { DOCS_ENABLED: 'false' }),
  'postgres://localhost',
);
const observability = {
  logger: pino({ level: 'silent' }),
  metrics: new Metrics(IDENTITY),
  tracer: NO_TRACER,
};
const app = await createApp(config, observability, HTTP_LIMITS);
await writeFile(file, openApiText(app, config));
await app.close();
