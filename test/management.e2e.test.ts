import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../src/config/config.js';
import { ManagementServer } from '../src/operations/management-server.js';
import { Metrics } from '../src/operations/metrics.js';
import { Readiness } from '../src/operations/readiness.js';
import { startTestService } from './support/test-service.js';
import type { TestService } from './support/test-service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.stop());

async function ask(path: string, method = 'GET') {
  const response = await fetch(service.managementUrl + path, { method });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe('the management port of a service that starts or stops', () => {
  it('says that it is alive, and why it is not ready', async () => {
    const readiness = new Readiness();
    const config = readConfig({ MANAGEMENT_PORT: '0' });
    const server = new ManagementServer(config, readiness, new Metrics());
    const { port } = await server.listen();
    const ready = async () => await fetch(`http://127.0.0.1:${port}/health/ready`);
    expect(await (await ready()).json()).toEqual({ status: 'unavailable', reason: 'starting' });
    expect((await fetch(`http://127.0.0.1:${port}/health/live`)).status).toBe(200);
    readiness.ready();
    expect((await ready()).status).toBe(200);
    readiness.notReady('shutting down');
    const answer = await ready();
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({ status: 'unavailable', reason: 'shutting down' });
    await server.close();
    await server.close();
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

  it('has nothing else, and says so with an Error', async () => {
    const nothing = await ask('/plants');
    expect(nothing.status).toBe(404);
    expect(nothing.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(nothing.text)).toMatchObject({ error: 40400 });
    const wrong = await ask('/metrics', 'POST');
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD');
  });

  it('gives metrics by the OpenTelemetry conventions', async () => {
    await service.post({ id: 1, name: 'a' });
    await service.request('GET', '/plants/2');
    await service.request('GET', '/nothing');
    await service.request('PROPFIND', '/nothing');
    const { text, headers } = await ask('/metrics');
    expect(headers.get('content-type')).toContain('text/plain');
    const count = (labels: string) =>
      new RegExp(`^http_server_request_duration_seconds_count\\{${labels}\\} (\\d+)$`, 'm').exec(
        text,
      )?.[1];
    const labels = (method: string, status: string, route: string) =>
      `http_request_method="${method}",http_response_status_code="${status}",http_route="${route}",error_type=""`;
    expect(count(labels('POST', '200', '/plants'))).toBe('1');
    expect(count(labels('GET', '404', '/plants/:id'))).toBe('1');
    expect(count(labels('GET', '404', ''))).toBe('1');
    expect(count(labels('PROPFIND', '404', ''))).toBe('1');
    expect(text).toMatch(/http_server_request_duration_seconds_bucket\{le="0\.075",/);
    expect(text).toMatch(/^db_client_connection_count\{db_client_connection_state="used"\} 0$/m);
    expect(text).toMatch(/^db_client_connection_pending_requests 0$/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m);
  });
});
