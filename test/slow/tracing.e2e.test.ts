import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Request, Response } from 'express';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Tracer } from '../../packages/framework/src/observability/tracer.js';
import { createLogger } from '../../packages/framework/src/observability/logger.js';
import { Collector } from '../support/collector.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import { issue } from '../support/issued-tokens.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { lockPlants, OWN_LOCKS, WAIT_FOR_LOCKS } from '../support/plants-lock.js';
import { Workspace } from '../support/process.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import type { Environment, ServiceProcess } from '../support/process.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { loadProgram } from '../support/program.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { IDENTITY } from '../../src/identity.js';

const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const TRACEPARENT = { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01` };

/** Of spans (opentelemetry-proto). */
const KIND = { server: 2, client: 3 };

describe('traces', () => {
  let collector: Collector;
  let service: TestService;
  let tracer: Tracer;

  beforeAll(async () => {
    collector = await Collector.start();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url);
    vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '20');
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=test');
    tracer = await (await loadProgram()).createTracer(IDENTITY, createLogger('silent'));
    service = await startTestService({ tracer, parameters: WAIT_FOR_LOCKS });
  });

  afterAll(async () => {
    await service.stop();
    await tracer.stop();
    collector.stop();
    vi.unstubAllEnvs();
  });

  async function lineOf(id: string) {
    return await vi.waitFor(() => {
      const line = service.log.find(({ requestId, msg }) => requestId === id && msg === 'request');
      expect(line).toBeDefined();
      return line!;
    }, PATIENCE);
  }

  /**
   * The spans of the request with this id, when all of them have arrived: statements, then the request. Without the span of a DEALLOCATE,
   * which follows a look-up of more than 20 ms, as on a busy machine.
   */
  async function spansOf(id: string, count: number) {
    const { traceId } = await lineOf(id);
    return await vi.waitFor(() => {
      const spans = collector.trace(traceId).filter(({ name }) => name !== 'DEALLOCATE');
      expect(spans).toHaveLength(count);
      return spans.toSorted((one, other) => other.kind - one.kind);
    }, PATIENCE);
  }

  /** Asks for a plant, or for something else. Returns the spans, the one of the request last. */
  async function trace(id: string, count: number, method = 'GET', path = '/plants/1') {
    await service.request(method, path, { headers: { 'X-Request-Id': id } });
    return spansOf(id, count);
  }

  it('continue the trace of the client, down to the statement', async () => {
    await service.post({ id: 1, name: 'a' }, { 'X-Request-Id': 'one', ...TRACEPARENT });
    const [statement, request] = await spansOf('one', 2);
    expect(request).toMatchObject({
      name: 'POST /plants',
      kind: KIND.server,
      traceId: CALLER.traceId,
      parentSpanId: CALLER.spanId,
      status: 0,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/plants',
        'http.response.status_code': 200,
        'url.scheme': 'http',
      },
      resource: {
        'service.name': 'plant-store',
        'service.version': IDENTITY.build.version,
        'deployment.environment.name': 'test',
      },
    });
    expect(statement).toMatchObject({
      name: 'INSERT',
      kind: KIND.client,
      parentSpanId: request?.spanId,
      attributes: { 'db.system.name': 'postgresql', 'db.operation.name': 'INSERT' },
    });
    expect(await lineOf('one')).toMatchObject({
      traceId: CALLER.traceId,
      spanId: request?.spanId,
    });
  });

  it('name the principal of the request by kind and id, as the log does', async () => {
    const [, served] = await trace('static', 2);
    const reading = ['--name', 'a', '--scope', 'plants:read'];
    const token = await issue(service.database.url, 'create', ...reading);
    const headers = { 'X-Request-Id': 'issued', Authorization: `Bearer ${token}` };
    expect((await service.post({ id: 1, name: 'a' }, headers)).status).toBe(403);
    const { traceId } = await lineOf('issued');
    // Beside it stands the statement that looks for a new token, unless the service has just read the tokens anyway.
    const refused = await vi.waitFor(() => {
      const request = collector.trace(traceId).find(({ kind }) => kind === KIND.server);
      expect(request).toBeDefined();
      return request;
    }, PATIENCE);
    expect(served?.attributes).toMatchObject({
      'enduser.id': 'AUTH_TOKEN',
      'plant_store.principal.kind': 'static-token',
    });
    expect(refused?.attributes).toMatchObject({
      'enduser.id': idOf(token),
      'plant_store.principal.kind': 'issued-token',
    });
    expect(await lineOf('issued')).toMatchObject({ principalId: idOf(token) });
  });

  it('name no principal if the token is not valid', async () => {
    await service.request('GET', '/plants/1', {
      headers: { 'X-Request-Id': 'unknown', Authorization: `Bearer ${TOKEN}x` },
    });
    const [request] = await spansOf('unknown', 1);
    expect(Object.keys(request?.attributes ?? {})).not.toContainEqual(
      expect.stringMatching(/enduser|principal/),
    );
  });

  it('start in the service when the client has none', async () => {
    const [look, request] = await trace('two', 2);
    expect(request).toMatchObject({ name: 'GET /plants/:id', parentSpanId: undefined });
    expect(look).toMatchObject({ name: 'SELECT', parentSpanId: request?.spanId });
    expect((await lineOf('two'))['spanId']).toBe(request?.spanId);
  });

  it('use a single name for unknown methods, for low cardinality', async () => {
    const [request] = await trace('method', 1, 'PROPFIND');
    expect(request).toMatchObject({
      name: 'HTTP',
      attributes: { 'http.request.method': '_OTHER', 'http.request.method_original': 'PROPFIND' },
    });
  });

  it('contain the client address of an abandoned request', async () => {
    const socket = await RawSocket.open(service.port);
    const traceparent = `00-${'b'.repeat(32)}-${CALLER.spanId}-01`;
    socket.send(
      `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\ntraceparent: ${traceparent}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n',
    );
    expect((await socket.answer()).status).toBe(100);
    socket.reset();
    const [request] = await vi.waitFor(() => {
      const spans = collector.trace('b'.repeat(32));
      expect(spans).toHaveLength(1);
      return spans;
    }, PATIENCE);
    expect(request).toMatchObject({
      status: 2,
      attributes: {
        'client.address': '127.0.0.1',
        'enduser.id': 'AUTH_TOKEN',
        'error.type': 'client_gone',
      },
    });
  });

  it('have statements of which docs/slow-queries.md tells the operation', async () => {
    const page = await readFile('docs/slow-queries.md', 'utf8');
    const [, cases = ''] = /^SELECT (CASE\n[^]*?\n +END) AS operation/m.exec(page) ?? [];
    const operationsOf = async (id: string) => {
      const { traceId } = await lineOf(id);
      const spans = await vi.waitFor(() => {
        const found = collector.trace(traceId);
        expect(found.some(({ kind }) => kind === KIND.server)).toBe(true);
        return found;
      }, PATIENCE);
      const rows = await service.database.query(
        `SELECT DISTINCT ${cases} AS operation FROM unnest($1::text[]) AS query`,
        [spans.flatMap(({ attributes }) => attributes['db.query.text'] ?? [])],
      );
      // Such as COMMIT.
      return rows.map(({ operation }) => operation).filter((operation) => operation !== 'other');
    };
    const json = { 'Content-Type': 'application/json' };
    const requests: readonly (readonly [
      request: string,
      operation: string,
      headers?: Record<string, string>,
      body?: string,
    ])[] = [
      ['POST /plants', 'POST /plants, one at a time', json, '{"id":71,"name":"Aloe","tag":"old"}'],
      ['GET /plants/71', 'GET /plants/{id}'],
      ['GET /plants', 'list or export'],
      ['GET /plants?ids=71,72', 'list with ids'],
      ['GET /plants?sort=tag', 'list with sort'],
      ['GET /plants?tag=old', 'list or export with tag'],
      ['GET /plants?name=alo', 'list or export with name'],
      ['PUT /plants/71', 'PUT and PATCH /plants/{id}', json, '{"name":"Aloe"}'],
      ['DELETE /plants/71', 'If-Match of PUT, PATCH and DELETE', { 'If-Match': '"another"' }],
      ['DELETE /plants/71', 'DELETE /plants/{id}'],
    ];
    for (const [at, [request, operation, headers = {}, body]] of requests.entries()) {
      const id = `operation-${at}`;
      const [method = '', path = ''] = request.split(' ');
      await service.request(method, path, {
        headers: { 'X-Request-Id': id, ...headers },
        ...(body !== undefined && { body }),
      });
      expect({ request, operations: await operationsOf(id) }).toEqual({
        request,
        operations: [operation],
      });
    }
  });

  it('contain a statement in the trace of each request that waited for it', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => 100 + index);
    const unlock = await lockPlants(service.database);
    const creations = ids.map((id) =>
      service.post({ id, name: 'a' }, { 'X-Request-Id': `group-${id}` }),
    );
    // Two groups can run, so some of the thirty plants wait together.
    const locked = `SELECT 1 FROM pg_locks WHERE relation = 'plants'::regclass AND NOT granted AND ${OWN_LOCKS}`;
    await vi.waitFor(
      async () => expect(await service.database.query(locked)).toHaveLength(2),
      PATIENCE,
    );
    await unlock();
    await Promise.all(creations);
    const traces = await Promise.all(ids.map((id) => spansOf(`group-${id}`, 2)));
    expect(new Set(traces.flat().map(({ traceId }) => traceId)).size).toBe(ids.length);
    for (const [statement, request] of traces) {
      expect(statement).toMatchObject({ name: 'INSERT', parentSpanId: request?.spanId });
    }
    const sizes = traces.map(([one]) => Number(one?.attributes['db.operation.batch.size'] ?? 1));
    expect(Math.max(...sizes)).toBeGreaterThan(1);
  });

  it('contain no statement that begins after the request, such as of a timer that it has set', async () => {
    const response = Object.assign(new EventEmitter(), {
      writableFinished: true,
      statusCode: 200,
      req: { socket: { errored: null } },
    });
    const request = { method: 'GET', headers: {}, socket: {} } as Request;
    let onTimer = () => Promise.resolve();
    tracer.request(request, response as unknown as Response, () => {
      onTimer = AsyncResource.bind(() => tracer.statement('SELECT', () => Promise.resolve()));
    });
    await onTimer();
    response.emit('close');
    await onTimer();
    // Later ones have arrived.
    await trace('timer', 2);
    expect(collector.trace(request.span?.traceId)).toHaveLength(2);
  });

  it('are not recorded when the client records none, but their ids are in the log', async () => {
    const headers = {
      'X-Request-Id': 'three',
      traceparent: `00-${'a'.repeat(32)}-${CALLER.spanId}-00`,
    };
    await service.request('GET', '/plants/1', { headers });
    expect((await lineOf('three'))['traceId']).toBe('a'.repeat(32));
    // Later ones have arrived.
    await trace('four', 2);
    expect(collector.trace('a'.repeat(32))).toEqual([]);
  });

  it('contain failures, but no secrets', async () => {
    await service.database.query('ALTER TABLE plants RENAME TO away');
    await service.post({ id: 2, name: 'secret-name' }, { 'X-Request-Id': 'five' });
    await service.database.query('ALTER TABLE away RENAME TO plants');
    const [statement, request] = await spansOf('five', 2);
    expect(statement).toMatchObject({ status: 2, attributes: { 'error.type': '42P01' } });
    expect(request).toMatchObject({ status: 2, attributes: { 'error.type': '500' } });
    const [strange] = await trace('six', 1, 'GET', '/secret-path?secret-query');
    expect(strange).toMatchObject({ name: 'GET', status: 0 });
    const text = JSON.stringify(collector.spans);
    for (const secret of ['secret-name', 'secret-path', 'secret-query', TOKEN]) {
      expect(text).not.toContain(secret);
    }
  });
});

describe.concurrent('a process', () => {
  let database: TestDatabase;
  let workspace: Workspace;

  beforeAll(async () => {
    [database, workspace] = await Promise.all([createTestDatabase(), Workspace.create()]);
  });

  afterAll(async () => {
    await workspace.remove();
    await database.drop();
  });

  function start(environment: Environment): ServiceProcess {
    return workspace.start({
      DATABASE_URL: database.url,
      AUTH_TOKEN: TOKEN,
      ...environment,
    });
  }

  async function get(service: ServiceProcess): Promise<Record<string, unknown>> {
    const { url } = await service.listening();
    await fetch(`${url}/plants/1`, {
      headers: { Authorization: `Bearer ${TOKEN}`, ...TRACEPARENT },
    });
    return service.logged('request');
  }

  async function stop(service: ServiceProcess): Promise<void> {
    service.kill('SIGTERM');
    expect(await service.exit()).toEqual({ code: 0, signal: null });
  }

  async function filesIn(coverage: string): Promise<string[]> {
    const reports = await Promise.all(
      (await readdir(coverage)).map((name) => readFile(join(coverage, name), 'utf8')),
    );
    return reports.flatMap((report) =>
      (JSON.parse(report) as { result: { url: string }[] }).result.map(({ url }) => url),
    );
  }

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', ''],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', '/v1/traces'],
  ])('flushes spans to %s when it stops', async (variable, path) => {
    const collector = await Collector.start();
    const service = start({
      [variable]: collector.url + path,
      OTEL_SERVICE_NAME: 'greenhouse',
      // No batch would be exported by itself during the test.
      OTEL_BSP_SCHEDULE_DELAY: '60000',
    });
    const { traceId, spanId } = await get(service);
    expect(collector.spans).toEqual([]);
    await stop(service);
    const request = collector.spans.find(({ kind }) => kind === KIND.server);
    expect(request).toMatchObject({ traceId, spanId, parentSpanId: CALLER.spanId });
    expect(request?.resource['service.name']).toBe('greenhouse');
    expect(collector.trace(CALLER.traceId)).toHaveLength(2);
    collector.stop();
  });

  it.each(['is away', 'does not answer'])('stops in time when the collector %s', async (what) => {
    const collector = await Collector.start({ silent: true });
    if (what === 'is away') collector.stop();
    const url = what === 'is away' ? 'http://127.0.0.1:9' : collector.url;
    const service = start({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
    expect(await get(service)).toMatchObject({ status: 404, traceId: CALLER.traceId });
    const begin = performance.now();
    await stop(service);
    // 3 seconds for the traces, after the timeouts of the connections. The exporter's own timeout is 10 s.
    expect(performance.now() - begin).toBeLessThan(9_000);
    collector.stop();
  });

  it('does not load OpenTelemetry without a collector', async () => {
    // Lists every loaded file at the end of the process.
    const coverage = workspace.path('coverage');
    const service = start({ NODE_V8_COVERAGE: coverage });
    expect(await get(service)).toMatchObject({ status: 404, ...CALLER });
    await stop(service);
    const files = (await filesIn(coverage)).filter((url) => url.startsWith('file:'));
    const loaded = await Promise.all(files.map((url) => readFile(new URL(url), 'utf8')));
    expect(loaded).toContainEqual(expect.stringContaining('PostgresDriver'));
    expect(loaded).not.toContainEqual(expect.stringContaining('BatchSpanProcessor'));
  });

  it.each(['true', 'TRUE '])('creates no traces with OTEL_SDK_DISABLED=%s', async (disabled) => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:9');
    vi.stubEnv('OTEL_SDK_DISABLED', disabled);
    const { createTracer, NO_TRACER } = await loadProgram();
    expect(await createTracer(IDENTITY, createLogger('silent'))).toBe(NO_TRACER);
    vi.unstubAllEnvs();
  });
});
