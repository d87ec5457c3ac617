import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { checks, ServiceProcess, TestedService } from '../../packages/conformance/src/index.js';
import type { OpenApiDocument } from '../../packages/conformance/src/index.js';
import { TOKEN } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { lastingPort } from '../support/lasting-port.js';
import { buildToolLibrary } from '../support/tool-library.js';

// Clients choose the ids of plants. Tools and loans get theirs from the database, and their creates have idempotency keys.
it.for([
  ['plant store', 'openapi.json', () => join('dist', 'main.js'), ['plants']],
  ['tool library', 'examples/tool-library/openapi.json', buildToolLibrary, ['tools', 'loans']],
] as const)(
  'the %s passes the checks of the package conformance that kill it',
  async ([, file, build, resources], { databaseUrl }) => {
    const document = JSON.parse(await readFile(file, 'utf8')) as OpenApiDocument;
    const main = await build();
    const port = await lastingPort();
    const url = `http://127.0.0.1:${port}`;
    const variables = `PORT=${port} MANAGEMENT_PORT=0 DATABASE_URL='${databaseUrl}' AUTH_TOKEN=${TOKEN}`;
    const running = new ServiceProcess(`${variables} exec '${process.execPath}' ${main}`, url);
    await running.start();
    try {
      const service = new TestedService(document, { url, token: TOKEN }, running);
      const names = resources.map((name) => `kill -9 during creates of ${name}:`);
      const kills = checks(document).filter(({ name }) =>
        names.some((begin) => name.startsWith(begin)),
      );
      expect(kills).toHaveLength(resources.length);
      for (const check of kills) {
        expect(await check.run(service)).toEqual({ name: check.name, outcome: 'pass' });
      }
      expect(await service.removeRows()).toEqual([]);
    } finally {
      await running.stop();
    }
  },
);
