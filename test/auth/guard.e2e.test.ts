import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Application } from 'express';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../packages/framework/src/app/app.setup.js';
import { readConfig, withDatabase } from '../../packages/framework/src/config/config.js';
import { HTTP_LIMITS } from '../../packages/framework/src/http/server/limits.js';
import { Metrics } from '../../packages/framework/src/observability/metrics.js';
import { NO_TRACER } from '../../packages/framework/src/observability/tracer.js';
import { OPERATIONS } from '../support/operations.js';
import { TOKEN } from '../support/test-service.js';
import { AppModule } from '../../src/app.module.js';
import { IDENTITY } from '../../src/identity.js';

/** What a stranger may see. */
const OPEN = new Set(['/', '/docs{/*page}', '/openapi.json', '/openapi.yaml']);

function isOpen(path: string): boolean {
  return OPEN.has(path) || path.startsWith('/docs/');
}

let app: NestExpressApplication;
let url: string;

beforeAll(async () => {
  const config = readConfig(IDENTITY, { AUTH_TOKEN: TOKEN });
  app = await createApp(
    AppModule,
    withDatabase(config, 'postgres://127.0.0.1:1/none'),
    { logger: pino({ level: 'silent' }), metrics: new Metrics(IDENTITY), tracer: NO_TRACER },
    HTTP_LIMITS,
  );
  await app.listen(0, '127.0.0.1');
  url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
});

afterAll(() => app.close());

/** Every route of the running server, not only those that controllers declare. */
function routes(): { readonly method: string; readonly path: string }[] {
  const express: Application = app.getHttpAdapter().getInstance();
  return express.router.stack.flatMap(({ route }) =>
    (route?.stack ?? []).map(({ method }) => ({
      method: method.toUpperCase(),
      path: route?.path ?? '',
    })),
  );
}

describe('every route that the server has', () => {
  it('refuses a stranger, unless it belongs to the docs', async () => {
    const seen = routes();
    expect(seen).toContainEqual({ method: 'POST', path: '/plants' });
    expect(seen).toContainEqual({ method: 'GET', path: '/plants/:id' });
    for (const { method, path } of seen) {
      if (isOpen(path)) continue;
      const response = await fetch(url + path.replaceAll(/:\w+/g, '1'), { method });
      expect(`${method} ${path} ${response.status}`).toBe(`${method} ${path} 401`);
      expect(await response.json()).toMatchObject({ error: 40100 });
    }
  });

  it('is in openapi.json, unless it belongs to the docs: run `npm run openapi` when this fails', () => {
    const named = routes()
      .filter(({ path }) => !isOpen(path))
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    const documented = OPERATIONS.map(({ method, path }) => `${method} ${path}`);
    expect(named.toSorted()).toEqual(documented.toSorted());
  });

  it('takes only GET where it is open', () => {
    const open = routes().filter(({ path }) => isOpen(path));
    expect(new Set(open.map(({ method }) => method))).toEqual(new Set(['GET']));
  });
});
