import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Controller, HttpCode, Module, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { Public } from '../../src/auth/public.decorator.js';
import { FrameworkModule } from '../../src/app/framework.module.js';
import { createTestingService } from '../../src/testing/testing-service.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';

const PATH = '/docs/client.tgz';
const BYTES = Buffer.from('packed');

@Controller('tools')
class ToolsController {
  @Post()
  @HttpCode(200)
  @Public()
  @ApiOperation({ operationId: 'createTool', tags: ['tools'], summary: 'Create a tool' })
  @ApiBody({ schema: { type: 'object' }, examples: { saw: { value: { name: 'Saw' } } } })
  @ApiOkResponse({ description: 'The tool.' })
  create(): object {
    return {};
  }
}

let folder: string;
let tarball: string;

beforeAll(async () => {
  vi.stubEnv('TEST_DATABASE_URL', inject('postgresUrl'));
  folder = await mkdtemp(join(tmpdir(), 'packed-client-'));
  tarball = join(folder, 'client.tgz');
  await writeFile(tarball, BYTES);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Starts a service that was built with this client. */
function start(clientTarball: string, environment: Record<string, string> = {}) {
  const client = { package: '@tool-library/client' };
  const identity = { ...IDENTITY, client, build: { ...IDENTITY.build, clientTarball } };
  @Module({
    imports: [FrameworkModule.forRoot(identity)],
    providers: ENHANCERS,
    controllers: [ToolsController],
  })
  class AppModule {}
  return createTestingService(AppModule, environment);
}

describe('the packed client', () => {
  it('is served without a token, as it is, and again only when it has changed', async () => {
    const service = await start(tarball);
    try {
      const answer = await fetch(service.url + PATH, { headers: { 'Accept-Encoding': 'gzip' } });
      expect(Buffer.from(await answer.arrayBuffer())).toEqual(BYTES);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'application/gzip',
        'cache-control': 'no-cache',
        etag: expect.stringMatching(/^"[\w-]{43}"$/) as string,
      });
      expect(answer.headers.get('content-encoding')).toBeNull();
      // Like npm. `fetch` would add no-cache.
      const headers = {
        'If-None-Match': answer.headers.get('etag')!,
        'Cache-Control': 'max-age=0',
      };
      expect((await fetch(service.url + PATH, { headers })).status).toBe(304);
    } finally {
      await service.stop();
    }
  });

  it('is what the code samples install, and without one they need none', async () => {
    for (const [built, isInstalled] of [
      [tarball, true],
      [join(tmpdir(), 'no-client.tgz'), false],
    ] as const) {
      const service = await start(built);
      try {
        const text = String((await service.send('GET', '/docs')).body).replaceAll(/<[^>]*>/g, '');
        expect(text.includes('/docs/client.tgz\n')).toBe(isInstalled);
        expect(text.includes('@tool-library/client')).toBe(isInstalled);
      } finally {
        await service.stop();
      }
    }
  });

  it('is the client that was there at the start, also while the next one is built', async () => {
    const built = join(folder, 'built.tgz');
    await writeFile(built, BYTES);
    const service = await start(built);
    try {
      await rm(built);
      const answer = await fetch(service.url + PATH);
      expect(Buffer.from(await answer.arrayBuffer())).toEqual(BYTES);
    } finally {
      await service.stop();
    }
  });

  it.each([
    ['it was not built', () => start(join(tmpdir(), 'no-client.tgz'))],
    ['the docs are switched off', () => start(tarball, { DOCS_ENABLED: 'false' })],
  ])('is an unknown path if %s', async (_, started) => {
    const service = await started();
    try {
      const answer = await service.send('GET', PATH);
      expect(answer).toMatchObject({ status: 404, body: { error: 40400 } });
    } finally {
      await service.stop();
    }
  });
});
