import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { listen } from '../../packages/framework/src/http/server/listen.js';
import { ManagementServer } from '../../packages/framework/src/management/management-server.js';
import { Health } from '../../packages/framework/src/observability/health.js';
import { createLogger } from '../../packages/framework/src/observability/logger.js';
import { requestMetrics } from '../../packages/framework/src/http/server/request-metrics.js';
import { Metrics } from '../../packages/framework/src/observability/metrics.js';
import { Readiness } from '../../packages/framework/src/observability/readiness.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { lockPlants, WAIT_FOR_LOCKS } from '../support/plants-lock.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import type { RawAnswer } from '../../packages/framework/test/support/raw-socket.js';
import { startTestService } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';
import { IDENTITY } from '../../src/identity.js';

const ANYWHERE = {
  host: '127.0.0.1',
  port: 0,
  variables: { host: 'MANAGEMENT_HOST', port: 'MANAGEMENT_PORT' },
};

const POOL = 'db_client_connection_pool_name="plant-store"';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({
    parameters: WAIT_FOR_LOCKS,
  });
});

afterAll(() => service.stop());

async function ask(path: string, method = 'GET') {
  const response = await fetch(service.managementUrl + path, { method });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Every series by its name and labels, as the text has them. */
async function metrics(): Promise<ReadonlyMap<string, number>> {
  const lines = (await ask('/metrics')).text.split('\n').filter((line) => /^[^#]/.test(line));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end))];
    }),
  );
}

async function refusals(): Promise<Record<string, number>> {
  const series = /^plant_store_refusals_total\{error="(\d+)"\}$/;
  const counts = [...(await metrics())].map(([name, value]) => [series.exec(name)?.[1], value]);
  return Object.fromEntries(counts.filter(([number]) => number !== undefined));
}

describe('the management port of a service that starts or stops', () => {
  it('is alive, and says why it is not ready', async () => {
    const readiness = new Readiness();
    const log = createLogger('silent');
    const empty = new Metrics(IDENTITY);
    const server = new ManagementServer(new Health(readiness, empty, log), empty, log);
    const { port } = await listen(server.server, ANYWHERE);
    const health = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}/health/${path}`);
      return [answer.status, await answer.json()];
    };
    const unready = (reason: string) => [503, { status: 'unavailable', reason }];
    const ready = [200, { status: 'ok' }];
    expect(await health('ready')).toEqual(unready('starting'));
    expect(await health('live')).toEqual(ready);
    readiness.ready();
    expect(await health('ready')).toEqual(ready);
    let wrong: string | undefined = 'the address is wrong';
    readiness.addCheck(() => undefined);
    readiness.addCheck(() => wrong);
    expect(await health('ready')).toEqual(unready('the address is wrong'));
    wrong = undefined;
    expect(await health('ready')).toEqual(ready);
    readiness.notReady('shutting down');
    expect(await health('ready')).toEqual(unready('shutting down'));
    await server.close();
    await server.close();
  });
});

describe('a management port of its own', () => {
  const lines: Record<string, unknown>[] = [];
  const measured = new Metrics(IDENTITY);
  let server: ManagementServer;
  let port: number;

  beforeAll(async () => {
    const log = createLogger('info', {
      write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    server = new ManagementServer(new Health(new Readiness(), measured, log), measured, log);
    ({ port } = await listen(server.server, ANYWHERE));
  });

  afterAll(() => server.close());

  const LIVE = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const METRICS = LIVE.replace('/health/live', '/metrics');

  it('accepts a hundred connections, and then closes the least recently used', async () => {
    const sockets: RawSocket[] = [];
    while (sockets.length < 100) sockets.push(await RawSocket.open(port));
    const [first, second, ...others] = sockets;
    first?.send(LIVE);
    expect((await first?.answer())?.status).toBe(200);
    const further = await RawSocket.open(port);
    await second?.end();
    for (const socket of [first, ...others, further]) {
      socket?.send(LIVE);
      expect((await socket?.answer())?.status).toBe(200);
    }
    for (const socket of [...sockets, further]) socket.destroy();
  });

  it('answers probes despite hundreds of slow connections, and closes these after ten seconds', async () => {
    const start = performance.now();
    const sockets: RawSocket[] = [];
    while (sockets.length < 500) {
      const socket = await RawSocket.open(port);
      socket.send('GET /health/live HTTP/1.1\r\n');
      sockets.push(socket);
    }
    const trickle = setInterval(() => {
      for (const socket of sockets) if (!socket.ended) socket.send('a: b\r\n');
    }, 500);
    try {
      const last = sockets.at(-1)!;
      for (;;) {
        if (last.ended || performance.now() - start > 20_000) break;
        const probe = await RawSocket.open(port);
        probe.send(LIVE);
        expect((await probe.answer()).status).toBe(200);
        probe.destroy();
        await sleep(100);
      }
      expect(last.ended).toBe(true);
      expect(performance.now() - start).toBeGreaterThan(9_900);
      expectError(await last.answer(), 408);
    } finally {
      clearInterval(trickle);
      for (const socket of sockets) socket.destroy();
    }
  });

  it.each([
    ['no HTTP', 'How do you do?\r\n\r\n', 400],
    ['a head that is too long', `GET / HTTP/1.1\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['half a head', 'GET / HT', 400],
    ['no HTTP behind a request', `${METRICS}How do you do?\r\n\r\n`, 400],
  ])('answers %s with an Error, and closes', async (_, bytes, status) => {
    const socket = await RawSocket.open(port);
    socket.send(bytes);
    if (bytes === 'GET / HT') socket.sendEnd();
    if (bytes.startsWith(METRICS)) expect((await socket.answer()).status).toBe(200);
    const answer = await socket.answer();
    expectError(answer, status);
    expect(answer.headers).toMatchObject({ connection: 'close' });
    await socket.end();
    expect(socket.rest).toBe('');
  });

  it.each([
    ['no Host', 'GET /health/live HTTP/1.1', [], 400],
    ['two Hosts', 'GET /health/live HTTP/1.1', ['Host: a', 'Host: a'], 400],
    ['a Host that is not valid', 'GET /health/live HTTP/1.1', ['Host: a b'], 400],
    ['two Hosts in HTTP/1.0', 'GET /health/live HTTP/1.0', ['Host: a', 'Host: a'], 400],
    ['an unknown Expect', 'GET /health/live HTTP/1.1', ['Host: a', 'Expect: more'], 417],
    ['a body', 'POST /health/live HTTP/1.1', ['Host: a', 'Content-Length: 9'], 405],
    ['no Host in HTTP/1.0', 'GET /health/live HTTP/1.0', [], 200],
  ])('answers a request with %s: %s', async (_, line, fields, status) => {
    const socket = await RawSocket.open(port);
    socket.send([line, ...fields, '', ''].join('\r\n'));
    const answer = await socket.answer();
    if (status === 200) expect(answer).toMatchObject({ status, body: '{"status":"ok"}' });
    else expectError(answer, status);
    socket.destroy();
  });

  function expectError({ status, headers, body }: RawAnswer, expected: number): void {
    expect(status).toBe(expected);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
    const message = expect.stringMatching(/\w/) as string;
    expect(JSON.parse(body)).toStrictEqual({ error: expect.any(Number) as number, message });
  }

  it('logs why there are no metrics, and answers with an Error', async () => {
    measured.gauge('hedges', 'Hedges.', () => {
      throw new Error('the queue is not to be read');
    });
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({
      error: 50000,
      message: 'the service failed to handle the request',
    });
    expect(lines).toMatchObject([
      { level: 50, error: 50000, err: { message: 'the queue is not to be read' } },
    ]);
    // A wrong request is not logged as an error.
    expect((await fetch(`http://127.0.0.1:${port}/nothing`)).status).toBe(404);
    expect(lines).toHaveLength(1);
  });
});

describe('the management port', () => {
  it.each(['/health/live', '/health/ready', '/health/ready?probe=1'])(
    'says ok at %s',
    async (path) => {
      expect(await ask(path)).toMatchObject({ status: 200, text: '{"status":"ok"}' });
      expect(await ask(path, 'HEAD')).toMatchObject({ status: 200, text: '' });
    },
  );

  it('answers other paths with an Error', async () => {
    const nothing = await ask('/plants');
    expect(nothing.status).toBe(404);
    expect(nothing.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(nothing.text)).toMatchObject({ error: 40400 });
    const wrong = await ask('/metrics', 'POST');
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD');
  });

  it('serves metrics that follow the OpenTelemetry conventions', async () => {
    await service.post({ id: 1, name: 'a' });
    await service.request('GET', '/plants/2');
    await service.request('GET', '/nothing');
    await service.request('PROPFIND', '/nothing');
    await service.request('PURGE', '/nothing');
    const { text, headers } = await ask('/metrics');
    expect(headers.get('content-type')).toContain('text/plain');
    for (const [method, status, route, count] of [
      ['POST', 200, '/plants', 1],
      ['GET', 404, '/plants/:id', 1],
      ['GET', 404, '', 1],
      // Low cardinality, with any method.
      ['_OTHER', 404, '', 2],
    ]) {
      expect(text).toContain(
        `http_server_request_duration_seconds_count{http_request_method="${method}",url_scheme="http",http_response_status_code="${status}",http_route="${route}",error_type=""} ${count}\n`,
      );
    }
    expect(text).not.toContain('PROPFIND');
    expect(text).toMatch(/http_server_request_duration_seconds_bucket\{le="0\.075",/);
    expect(text).toContain(
      `\ndb_client_connection_count{${POOL},db_client_connection_state="used"} 0\n`,
    );
    expect(text).toContain(`\ndb_client_connection_pending_requests{${POOL}} 0\n`);
    expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m);
  });

  it('counts each refusal once, by its number, including malformed requests', async () => {
    const before = await refusals();
    const documented = readFileSync('docs/errors.md', 'utf8').matchAll(/^\| (\d+) /gm);
    expect(Object.keys(before).toSorted()).toEqual([...documented].map(([, n]) => n!).toSorted());
    await service.post({ id: 'x', name: 'a' });
    await service.post({ id: 3, name: 'a' });
    await service.post({ id: 3, name: 'b' });
    await service.request('GET', '/nothing');
    await service.request('GET', '/nothing');
    await service.request('GET', '/plants/3', { anonymous: true });
    const socket = await RawSocket.open(service.port);
    socket.send('rubbish\r\n\r\n more of it');
    expect((await socket.answer()).status).toBe(400);
    socket.destroy();
    // Refusals of the management port do not count.
    await ask('/nothing');
    const counted = Object.entries(await refusals())
      .map(([number, count]) => [number, count - (before[number] ?? 0)])
      .filter(([, count]) => count !== 0);
    expect(Object.fromEntries(counted)).toEqual({
      40000: 1,
      40003: 1,
      40009: 1,
      40100: 1,
      40400: 2,
    });
  });

  it('counts requests by outcome, starting at zero', async () => {
    const fresh = new Metrics(IDENTITY);
    const measure = requestMetrics(fresh);
    const counted = async () =>
      (await fresh.text())
        .split('\n')
        .filter((line) => line.startsWith('plant_store_requests_total'));
    expect(await counted()).toEqual([
      'plant_store_requests_total{outcome="answered"} 0',
      'plant_store_requests_total{outcome="failed"} 0',
      'plant_store_requests_total{outcome="abandoned"} 0',
    ]);
    for (const status of [200, 400, 499, 500, 503, undefined]) {
      measure({ method: 'GET', scheme: 'http', route: '/plants/:id', status, seconds: 1 });
    }
    expect(await counted()).toEqual([
      'plant_store_requests_total{outcome="answered"} 3',
      'plant_store_requests_total{outcome="failed"} 2',
      'plant_store_requests_total{outcome="abandoned"} 1',
    ]);
  });

  it('shows the limits of the queue and the pool', async () => {
    const limits = await metrics();
    const waiting = 'plant_store_creations_waiting';
    expect(limits.get(`${waiting}{resource="plants"}`)).toBe(0);
    expect(limits.get(`${waiting}_max{resource="plants"}`)).toBe(1_000);
    expect(limits.get(`${waiting}_characters{resource="plants"}`)).toBe(0);
    expect(limits.get(`${waiting}_characters_max{resource="plants"}`)).toBe(50_000_000);
    expect(limits.get(`db_client_connection_max{${POOL}}`)).toBe(10);
  });

  it('shows a filling queue, a used pool, and the size of groups', async () => {
    const waiting = 'plant_store_creations_waiting{resource="plants"}';
    const used = `db_client_connection_count{${POOL},db_client_connection_state="used"}`;
    const groups = 'plant_store_creation_group_rows';
    const before = await metrics();
    const unlock = await lockPlants(service.database);
    const creations: Promise<Answer>[] = [];
    // Two groups can run. Later plants wait.
    for (const connections of [1, 2]) {
      creations.push(service.post({ id: 100 + connections, name: 'four' }));
      await vi.waitFor(async () => expect((await metrics()).get(used)).toBe(connections), PATIENCE);
    }
    for (let id = 200; id < 210; id++) creations.push(service.post({ id, name: 'four' }));
    await vi.waitFor(async () => expect((await metrics()).get(waiting)).toBe(10), PATIENCE);
    expect((await metrics()).get(waiting.replace('{', '_characters{'))).toBe(40);
    await unlock();
    const answers = await Promise.all(creations);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    const after = await metrics();
    const grown = (series: string) => (after.get(series) ?? NaN) - (before.get(series) ?? NaN);
    expect(grown(`${groups}_sum{resource="plants"}`)).toBe(12);
    expect(grown(`${groups}_bucket{le="1",resource="plants"}`)).toBeGreaterThanOrEqual(2);
    expect(grown(`${groups}_count{resource="plants"}`)).toBeGreaterThan(2);
    expect(grown(`${groups}_count{resource="plants"}`)).toBeLessThanOrEqual(4);
    expect(after.get(waiting)).toBe(0);
  });

  it('shows the running version', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const node = process.versions.node;
    expect(
      (await metrics()).get(
        `plant_store_build_info{version="${version}",revision="unknown",node_version="${node}"}`,
      ),
    ).toBe(1);
  });

  it('shows utilization and delay of the event loop', async () => {
    const active = 'nodejs_eventloop_time_seconds_total{nodejs_eventloop_state="active"}';
    const before = (await metrics()).get(active) ?? NaN;
    // Each scrape resets the delay monitor, which samples every 10 ms.
    await sleep(50);
    const end = performance.now() + 500;
    // oxlint-disable-next-line no-empty
    while (performance.now() < end) {}
    // Node counts a turn of the loop when it is over.
    await sleep(50);
    const blocked = await metrics();
    expect((blocked.get(active) ?? NaN) - before).toBeGreaterThan(0.45);
    expect(blocked.get('nodejs_eventloop_lag_max_seconds')).toBeGreaterThan(0.4);
    expect(blocked.get('nodejs_eventloop_lag_max_seconds')).toBeLessThan(5);
    // Each scrape shows only the time since the previous.
    await vi.waitFor(async () => {
      await sleep(50);
      expect((await metrics()).get('nodejs_eventloop_lag_max_seconds')).toBeLessThan(0.4);
    }, PATIENCE);
  });
});
