import { Controller, Get, HttpCode, Injectable, Module, Post } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { FrameworkModule, Public, RequireScope } from '../../src/index.js';
import { createTestingService } from '../../src/testing.js';
import type { TestingService } from '../../src/testing.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';

/* `createTestingService`, and with it routes without a token, and scopes that are neither for reading nor for writing. */

@Injectable()
class Catalogue {
  names(): readonly string[] {
    return ['Hammer'];
  }
}

@Controller('tools')
class ToolsController {
  constructor(private readonly catalogue: Catalogue) {}

  @Get()
  @RequireScope('tools:read')
  list(): readonly string[] {
    return this.catalogue.names();
  }

  @Post('loans')
  @RequireScope('tools:lend')
  lend(): object {
    return { lent: true };
  }

  @Post('login')
  @HttpCode(200)
  @Public()
  login(): object {
    return { token: 'secret' };
  }
}

@Module({
  providers: [Catalogue],
  controllers: [ToolsController],
})
class ToolsModule {}

@Module({ imports: [FrameworkModule.forRoot(IDENTITY), ToolsModule], providers: ENHANCERS })
class AppModule {}

let service: TestingService;

beforeAll(async () => {
  vi.stubEnv('TEST_DATABASE_URL', inject('postgresUrl'));
  service = await createTestingService(AppModule);
});

afterAll(async () => {
  await service.stop();
  vi.unstubAllEnvs();
});

it('answers over HTTP, and on the management port', async () => {
  expect(await service.send('GET', '/tools')).toMatchObject({ status: 200, body: ['Hammer'] });
  expect((await fetch(`${service.url}/tools`)).status).toBe(401);
  expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
});

it('issues tokens with some scopes, which may be for anything', async () => {
  const Authorization = `Bearer ${await service.tokenWith('tools:lend')}`;
  expect(await service.send('POST', '/tools/loans', {}, { Authorization })).toMatchObject({
    status: 201,
  });
  expect(await service.send('GET', '/tools', undefined, { Authorization })).toMatchObject({
    status: 403,
    body: { error: 40300 },
  });
});

it('sends the given header fields in place of its own, in any case of their names', async () => {
  const authorization = `Bearer ${await service.tokenWith('tools:lend')}`;
  const fields = { authorization, 'content-type': 'application/json; charset=utf-8' };
  expect(await service.send('POST', '/tools/loans', {}, fields)).toMatchObject({ status: 201 });
});

it('starts services beside each other, each with its variables and its database', async () => {
  const other = await createTestingService(AppModule, { PUBLIC_BASE_URL: 'http://localhost/api' });
  const Authorization = `Bearer ${await service.tokenWith('tools:read')}`;
  expect(other.url).toMatch(/\/api$/);
  expect(await other.send('GET', '/tools')).toMatchObject({ status: 200 });
  expect(await other.send('GET', '/tools', undefined, { Authorization })).toMatchObject({
    status: 401,
  });
  await other.stop();
});

it('gives the providers of all modules', () => {
  expect(service.get(Catalogue).names()).toEqual(['Hammer']);
  expect(() => service.get('Other')).toThrow('Other');
});

it('replaces providers, as Nest does', async () => {
  const names = () => ['Saw'];
  const other = await createTestingService(
    AppModule,
    {},
    { override: (builder) => builder.overrideProvider(Catalogue).useValue({ names }) },
  );
  expect(await other.send('GET', '/tools')).toMatchObject({ status: 200, body: ['Saw'] });
  expect(other.get(Catalogue)).toMatchObject({ names });
  expect((await fetch(`${other.url}/tools`)).status).toBe(401);
  await other.stop();
});

it('waits for its database as long as a busy machine needs', async () => {
  const limit = await service.get(DataSource).query<unknown>('SHOW statement_timeout');
  expect(limit).toEqual([{ statement_timeout: '1min' }]);
});

it('leaves no database behind if the service does not start', async () => {
  let name: string | undefined;
  @Injectable()
  class Failing implements OnModuleInit {
    constructor(private readonly dataSource: DataSource) {}

    async onModuleInit(): Promise<void> {
      const found = await this.dataSource.query<{ name: string }[]>(
        'SELECT current_database() AS name',
      );
      name = found[0]?.name;
      throw new Error('it does not start');
    }
  }
  @Module({
    imports: [FrameworkModule.forRoot(IDENTITY), ToolsModule],
    providers: [...ENHANCERS, Failing],
  })
  class FailingModule {}
  await expect(createTestingService(FailingModule)).rejects.toThrow('it does not start');
  expect(name).toMatch(/^test_/);
  const databases = 'SELECT datname FROM pg_database WHERE datname = $1';
  expect(await service.get(DataSource).query<unknown>(databases, [name])).toEqual([]);
});

it('says what is missing without a server', async () => {
  vi.stubEnv('TEST_DATABASE_URL', '');
  await expect(createTestingService(AppModule)).rejects.toThrow(
    'list @resource-service/local/global-setup in globalSetup',
  );
  vi.stubEnv('TEST_DATABASE_URL', inject('postgresUrl'));
});

it.each([undefined, 'Bearer not-a-token', 'Basic abc'])(
  'a public route answers a request with the credentials %s',
  async (credentials) => {
    const response = await fetch(`${service.url}/tools/login`, {
      method: 'POST',
      ...(credentials !== undefined && { headers: { Authorization: credentials } }),
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ token: 'secret' });
  },
);

it('the document says which operations need no token', async () => {
  const { body } = await service.send('GET', '/openapi.json');
  expect(body).toMatchObject({
    info: { description: expect.stringContaining('unless its operation says otherwise') },
    security: [{ bearerAuth: [] }],
    paths: {
      '/tools/login': { post: { security: [] } },
      '/tools/loans': { post: { 'x-required-scope': 'tools:lend' } },
    },
  });
  expect(body).not.toHaveProperty(['paths', '/tools', 'get', 'security']);
});
