import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { IDENTITY } from '../../src/identity.js';
import type { DatabaseLimits } from '../../packages/framework/src/database/limits.js';
import type { HttpLimits } from '../../packages/framework/src/http/server/limits.js';
import type { Tracer } from '../../packages/framework/src/observability/tracer.js';
import type { ShutdownLimits } from '../../packages/framework/src/app/service.js';
import { loadProgram } from './program.js';
import { createMigratedDatabase } from './migrated-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { defaultLimits } from '../../packages/framework/test/support/patience.js';
import { TOKEN } from '../../packages/framework/test/support/tokens.js';

export { TOKEN } from '../../packages/framework/test/support/tokens.js';

/** The whole service in this process, with its own ports and database. */
export interface TestService {
  /** Address of the public port with the base path, such as `http://127.0.0.1:40123/api`. */
  readonly url: string;
  readonly port: number;
  readonly managementUrl: string;
  readonly database: TestDatabase;
  /** Every line of the log so far. */
  readonly log: readonly Record<string, unknown>[];
  /** Sends a request with the token; headers given here replace those set by default. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** Sends a `POST /plants` with the token; a body that is no string is sent as JSON. */
  post(body: unknown, headers?: Record<string, string>): Promise<Answer>;
  stop(limits?: ShutdownLimits): Promise<void>;
}

export interface RequestOptions {
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream;
  /** Without the Authorization header. */
  readonly anonymous?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body, parsed by `JSON.parse`. */
  readonly json: Record<string, unknown>;
}

export interface TestServiceOptions {
  readonly environment?: Record<string, string>;
  readonly limits?: Partial<HttpLimits>;
  /** Where it lacks one: {@link defaultLimits}. */
  readonly databaseLimits?: Partial<DatabaseLimits>;
  readonly database?: TestDatabase;
  /** Of the database URL, such as `lock_timeout=20000`. */
  readonly parameters?: string;
  readonly signal?: AbortSignal;
  readonly tracer?: Tracer;
}

/**
 * Environment of a service whose statements all come from requests. By default, the service also reads the table of issued
 * tokens every few seconds: on a connection that a test may count, or in a session that a test may end.
 */
export const ONLY_REQUESTS = { AUTH_ISSUED_TOKENS: 'false' };

export async function startTestService({
  environment = {},
  limits = {},
  databaseLimits = {},
  database: given,
  parameters,
  signal = new AbortController().signal,
  tracer,
}: TestServiceOptions = {}): Promise<TestService> {
  const program = await loadProgram();
  const database = given ?? (await createMigratedDatabase());
  const databaseUrl = parameters === undefined ? database.url : `${database.url}?${parameters}`;
  const log: Record<string, unknown>[] = [];
  const config = program.withDatabase(
    program.readConfig(
      IDENTITY,
      {
        PORT: '0',
        MANAGEMENT_PORT: '0',
        DATABASE_URL: databaseUrl,
        AUTH_TOKEN: TOKEN,
        ...environment,
      },
      program.serviceModuleOf(program.AppModule).variables,
    ),
    databaseUrl,
  );
  const logger = program.createLogger('debug', {
    write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>),
  });
  const metrics = new program.Metrics(IDENTITY);
  const service = await program.startService(
    program.AppModule,
    config,
    { logger, metrics, tracer: tracer ?? program.NO_TRACER },
    signal,
    { ...program.HTTP_LIMITS, ...limits },
    { ...defaultLimits(), ...databaseLimits },
  );
  const url = `http://127.0.0.1:${service.address.port}${config.http.basePath}`;

  const request = async (
    method: string,
    path: string,
    { headers = {}, body, anonymous = false }: RequestOptions = {},
  ): Promise<Answer> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...(anonymous ? {} : { Authorization: `Bearer ${TOKEN}` }), ...headers },
      redirect: 'manual',
      ...(body === undefined ? {} : { body, duplex: 'half' }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      get json() {
        return JSON.parse(text) as Record<string, unknown>;
      },
    };
  };

  return {
    url,
    port: service.address.port,
    managementUrl: `http://127.0.0.1:${service.management.port}`,
    database,
    log,
    request,
    post: (body, headers = {}) =>
      request('POST', '/plants', {
        headers: { 'Content-Type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    stop: async (shutdownLimits) => {
      await service.stop(shutdownLimits);
      if (given === undefined) await database.drop();
    },
  };
}

/** Too many lists or changes, no connection, or a locked row: the service has done nothing (docs/errors.md). */
const BUSY: ReadonlySet<unknown> = new Set([50304, 50306, 50307, 50310]);

/**
 * Sends a request again while the service says that it is too busy, as clients do: where other processes have the processor, many requests at
 * once wait for a row or a connection longer than they may.
 */
export async function unlessBusy(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempts = 1; ; attempts += 1) {
    const answer = await send();
    if (answer.status !== 503 || attempts === 5 || !BUSY.has(answer.json['error'])) return answer;
    await sleep(1_000 * Number(answer.headers.get('Retry-After')));
  }
}

/** A service that stops with the test. */
export async function serviceForTest(options?: TestServiceOptions): Promise<TestService> {
  const service = await startTestService(options);
  onTestFinished(() => service.stop());
  return service;
}
