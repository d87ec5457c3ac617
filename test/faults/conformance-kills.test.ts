import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { checks, ServiceProcess, TestedService } from '../../packages/conformance/src/index.js';
import type { OpenApiDocument } from '../../packages/conformance/src/index.js';
import { TOKEN } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { lastingPort } from '../support/lasting-port.js';

it('passes the checks of the package conformance that kill it', async ({ databaseUrl }) => {
  const document = JSON.parse(await readFile('openapi.json', 'utf8')) as OpenApiDocument;
  const port = await lastingPort();
  const url = `http://127.0.0.1:${port}`;
  const variables = `PORT=${port} MANAGEMENT_PORT=0 DATABASE_URL='${databaseUrl}' AUTH_TOKEN=${TOKEN}`;
  const main = join('dist', 'main.js');
  const running = new ServiceProcess(`${variables} exec '${process.execPath}' ${main}`, url);
  await running.start();
  try {
    const service = new TestedService(document, { url, token: TOKEN }, running);
    for (const check of checks(document).filter(({ name }) => name.startsWith('kill'))) {
      expect(await check.run(service)).toEqual({ name: check.name, outcome: 'pass' });
    }
    expect(await service.removeRows()).toEqual([]);
  } finally {
    await running.stop();
  }
});
