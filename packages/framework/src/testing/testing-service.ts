import { randomBytes, randomUUID } from 'node:crypto';
import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { TestingModuleBuilder } from '@nestjs/testing';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { TokenFormat } from '../auth/issued-tokens/token-format.js';
import { createToken } from '../auth/issued-tokens/token-issuance.js';
import type { Scope } from '../auth/principal.js';
import { readConfig, withDatabase } from '../config/config.js';
import type { Identity } from '../config/identity.js';
import { withExamples } from '../config/service-variables.js';
import { serviceModuleOf } from '../app/framework.module.js';
import { DATABASE_LIMITS } from '../database/limits.js';
import { HTTP_LIMITS } from '../http/server/limits.js';
import { createLogger } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { NO_TRACER } from '../observability/tracer.js';
import type { Create } from '../app/app.setup.js';
import { startService } from '../app/service.js';
import type { ProviderToken } from '../app/service.js';
import { PATIENT } from './patient-limits.js';

/** The URL of a PostgreSQL server whose user may create databases. */
const TEST_DATABASE_URL = 'TEST_DATABASE_URL';

/** A whole service in the process of a test, with its own ports and database. */
export interface TestingService {
  /** Such as `http://127.0.0.1:40123`, with the path of `PUBLIC_BASE_URL`. */
  readonly url: string;
  /** For health checks and metrics. */
  readonly managementUrl: string;
  /** Has every scope. */
  readonly token: string;
  /** Issues a token that has only these scopes. */
  tokenWith(...scopes: readonly [Scope, ...Scope[]]): Promise<string>;
  /** Sends a request with the token. A body other than a string is sent as JSON. */
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<TestingResponse>;
  /** A provider of any module, such as a service or a job. */
  get<Provider>(token: ProviderToken<Provider>): Provider;
  /** Stops the service and removes its database. */
  stop(): Promise<void>;
}

export interface TestingResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed by `JSON.parse` if it is JSON, otherwise text. */
  readonly body: unknown;
}

export interface TestingOptions {
  /** Replaces providers, as in Nest's documentation. Needs `@nestjs/testing`. */
  readonly override?: (builder: TestingModuleBuilder) => unknown;
}

/**
 * Starts a service on a new, migrated database of the server of `@resource-service/local/global-setup`. Only errors are logged.
 *
 * ```ts
 * const service = await createTestingService(
 *   AppModule,
 *   { RATE_LIMIT: '100' },
 *   { override: (builder) => builder.overrideProvider(Mailer).useValue(fake) },
 * );
 * await service.get(ExpiryJob).run();
 * ```
 *
 * @param app imports `FrameworkModule.forRoot(…)`
 * @param environment variables of the service, instead of the variables of the process. The examples stand in for its own that
 *   are required
 */
export async function createTestingService(
  app: Type,
  environment: Readonly<Record<string, string>> = {},
  { override }: TestingOptions = {},
): Promise<TestingService> {
  const { identity, variables } = serviceModuleOf(app);
  const token = randomBytes(32).toString('base64url');
  const given = {
    AUTH_TOKEN: token,
    PORT: '0',
    MANAGEMENT_PORT: '0',
    LOG_LEVEL: 'error',
    ...environment,
  };
  const config = readConfig(identity, withExamples(variables, given), variables);
  const database = await createDatabase();
  const service = await startService(
    app,
    withDatabase(config, database.url),
    {
      logger: createLogger(config.logLevel, undefined, config.logFormat),
      metrics: new Metrics(identity),
      tracer: NO_TRACER,
    },
    new AbortController().signal,
    HTTP_LIMITS,
    { ...DATABASE_LIMITS, ...PATIENT },
    override && creatorWith(override),
  ).catch(async (error: unknown) => {
    await database.drop().catch(() => {});
    throw error;
  });
  const url = `http://127.0.0.1:${service.address.port}${config.http.basePath}`;
  return {
    url,
    managementUrl: `http://127.0.0.1:${service.management.port}`,
    token,
    get: (provider) => service.get(provider),
    tokenWith: (...scopes) => issueToken(identity, service.get(DataSource), scopes),
    send: async (method, path, body, fields = {}) => {
      const headers = new Headers({ Authorization: `Bearer ${token}` });
      if (body !== undefined) headers.set('Content-Type', 'application/json');
      // In any case of its name, a given field takes the place of these: `fetch` would join both.
      for (const [name, value] of Object.entries(fields)) headers.set(name, value);
      const response = await fetch(url + path, {
        method,
        headers,
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      return { status: response.status, headers: response.headers, body: await read(response) };
    },
    stop: async () => {
      try {
        await service.stop();
      } finally {
        await database.drop();
      }
    },
  };
}

function creatorWith(override: NonNullable<TestingOptions['override']>): Create {
  return async (root, adapter, options) => {
    const { Test } = await import('@nestjs/testing');
    const builder = Test.createTestingModule({ imports: [root] });
    override(builder);
    const module = await builder.compile();
    return module.createNestApplication<NestExpressApplication>(adapter, options);
  };
}

async function read(response: Response): Promise<unknown> {
  const text = await response.text();
  const isJson = response.headers.get('Content-Type')?.startsWith('application/json');
  return isJson ? JSON.parse(text) : text;
}

async function createDatabase() {
  const server = process.env[TEST_DATABASE_URL];
  if (!server) {
    throw new Error(
      `the tests have no PostgreSQL server: list @resource-service/local/global-setup in globalSetup, or set ${TEST_DATABASE_URL}`,
    );
  }
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await connected(server, (connection) => connection.query(`CREATE DATABASE ${name}`));
  return {
    url: Object.assign(new URL(server), { pathname: `/${name}` }).href,
    drop: () =>
      connected(server, (connection) => connection.query(`DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

async function issueToken(
  identity: Identity,
  dataSource: DataSource,
  scopes: readonly Scope[],
): Promise<string> {
  const issued = await createToken(dataSource, new TokenFormat(identity), {
    name: scopes.join(' '),
    scopes,
    lifetime: 'never',
  });
  if (issued === undefined) throw new Error('there are too many tokens');
  return issued.token;
}

async function connected<Result>(
  url: string,
  work: (connection: DataSource) => Promise<Result>,
): Promise<Result> {
  const connection = await new DataSource({ type: 'postgres', driver: pg, url }).initialize();
  try {
    return await work(connection);
  } finally {
    await connection.destroy();
  }
}
