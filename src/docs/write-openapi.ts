import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import { pino } from 'pino';
import { createApp } from '../app.setup.js';
import { readConfig, withDatabase } from '../config/config.js';
import { HTTP_LIMITS } from '../http/limits.js';
import { openApiText } from './openapi.js';

/* Writes the document that the service serves, for `npm run openapi`. No database is connected to. */

const [file = 'openapi.json'] = process.argv.slice(2);
const config = withDatabase(readConfig({ DOCS_ENABLED: 'false' }), 'postgres://localhost');
const app = await createApp(config, pino({ level: 'silent' }), HTTP_LIMITS);
await writeFile(file, openApiText(app, config.http));
await app.close();
