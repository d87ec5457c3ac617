import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DOCUMENT } from '../support/application.js';
import { allowOf, OPERATIONS } from '../support/operations.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/** The part of the OpenAPI document that has the header fields. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>;
}

const PATHS = [...new Set(OPERATIONS.map(({ path }) => path))];

/** Each method that a path does not take, with the methods that it takes. */
const WRONG_METHODS = PATHS.flatMap((path) =>
  ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT']
    .filter((method) => !allowOf(path).split(', ').includes(method))
    .map((method) => [method, path.replaceAll(/\{\w+\}/g, '1'), allowOf(path)] as const),
);

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.stop());

describe('credentials', () => {
  it('that are missing are asked for, without an error code in the challenge', async () => {
    const answer = await service.request('POST', '/plants', { anonymous: true });
    expect(answer).toMatchObject({ status: 401, json: { error: 40100 } });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="plant-store"');
  });

  it.each([
    ['another scheme', 'Basic dXNlcjpwYXNz', 40100],
    ['no token', 'Bearer', 40101],
    ['a wrong token', 'Bearer wrong', 40101],
    ['a token and a space more', `Bearer ${TOKEN} x`, 40101],
    ['two tokens in one header', `Bearer ${TOKEN}, Bearer ${TOKEN}`, 40101],
    ['the token without its last character', `Bearer ${TOKEN.slice(0, -1)}`, 40101],
    ['the token and a character more', `Bearer ${TOKEN}x`, 40101],
    ['the token in another case', `Bearer ${TOKEN.toUpperCase()}`, 40101],
    ['the token in quotes', `Bearer "${TOKEN}"`, 40101],
    ['a tab before the token', `Bearer \t${TOKEN}`, 40101],
    ['a token that is not ASCII', 'Bearer tökén', 40101],
    ['the token alone', TOKEN, 40100],
    ['what only looks like the scheme', `Bearer${TOKEN}`, 40100],
    ['an empty header', '', 40100],
  ])('with %s are refused', async (_, header, error) => {
    const answer = await service.request('GET', '/plants/1', {
      headers: { Authorization: header },
    });
    expect(answer).toMatchObject({ status: 401, json: { error } });
    expect(answer.headers.get('www-authenticate')?.includes('error="invalid_token"')).toBe(
      error === 40101,
    );
  });

  it.each(['bearer', 'BEARER', 'bEaReR'])('may name the scheme %s', async (scheme) => {
    const answer = await service.request('GET', '/plants/1', {
      headers: { Authorization: `${scheme} ${TOKEN}` },
    });
    expect(answer.status).toBe(404);
  });

  it('are looked for in the header only', async () => {
    const anonymous = true;
    for (const answer of [
      await service.request('GET', `/plants/1?access_token=${TOKEN}`, { anonymous }),
      await service.request('GET', '/plants/1', {
        anonymous,
        headers: { Cookie: `token=${TOKEN}` },
      }),
      await service.request('POST', '/plants', {
        anonymous,
        headers: { 'Content-Type': 'application/json' },
        body: `{"id":1,"name":"a","access_token":"${TOKEN}"}`,
      }),
    ]) {
      expect(answer).toMatchObject({ status: 401, json: { error: 40100 } });
    }
  });
});

describe('paths', () => {
  it.each([
    '/plants/',
    '/Plants',
    '/PLANTS/1',
    '/plants/1/',
    '/plants/1/2',
    '//plants',
    '/api/plants',
    '/health/live',
    '/metrics',
    '/docs/../plantsx',
    '/docs/nothing.js',
    '/docs/README.md',
    '/favicon.ico',
    '/.env',
    '/%2e%2e/%2e%2e/etc/passwd',
  ])('%s is not there, and that needs no token', async (path) => {
    const answer = await service.request('GET', path, { anonymous: true });
    expect(answer).toMatchObject({ status: 404, json: { error: 40400 } });
    expect(answer.headers.get('content-type')).toBe('application/json');
  });

  it.each<readonly [method: string, path: string, allow: string]>([
    ...WRONG_METHODS,
    ['POST', '/docs', 'GET, HEAD, OPTIONS'],
    ['POST', '/', 'GET, HEAD, OPTIONS'],
  ])('refuse %s %s with 405 and the methods they allow', async (method, path, allow) => {
    const answer = await service.request(method, path, { anonymous: true });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe(allow);
    if (method !== 'HEAD') expect(answer.json['error']).toBe(40500);
  });

  it.each(PATHS)('answer OPTIONS %s with 204 and their methods, without a token', async (path) => {
    const target = path.replaceAll(/\{\w+\}/g, '1');
    const answer = await service.request('OPTIONS', target, { anonymous: true });
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(answer.headers.get('allow')).toBe(allowOf(path));
  });

  it('answer OPTIONS with 404 where there is nothing', async () => {
    expect((await service.request('OPTIONS', '/nothing')).json['error']).toBe(40400);
  });

  it('are found by an absolute target without one', async () => {
    const socket = await RawSocket.open(service.port);
    socket.send('PUT http://plants.example HTTP/1.1\r\nHost: plants.example\r\n\r\n');
    expect(await socket.answer()).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD, OPTIONS' },
    });
    socket.destroy();
  });
});

describe('every answer', () => {
  it.each([
    ['POST', '/plants', 401],
    ['GET', '/nothing', 404],
    ['PUT', '/docs', 405],
    ['GET', '/docs', 200],
  ])('to %s %s carries the security headers', async (method, path, status) => {
    const answer = await service.request(method, path, { anonymous: true });
    expect(answer.status).toBe(status);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'strict-transport-security': 'max-age=31536000',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(answer.headers.has('x-powered-by')).toBe(false);
  });

  it('of the API is stored by nobody', async () => {
    await service.post({ id: 60, name: 'a' });
    for (const path of ['/plants/60', '/plants', '/plants/export', '/plants/61', '/nothing']) {
      const { headers } = await service.request('GET', path);
      expect(headers.get('cache-control')).toMatch(/^no-store\b/);
    }
    expect((await service.post({ id: 60, name: 'b' })).headers.get('cache-control')).toBe(
      'no-store',
    );
  });
});

describe('the log', () => {
  it('has one line for each request, with route, status, duration and request id', async () => {
    const headers = { 'X-Request-Id': 'log-test' };
    await service.post({ id: 50, name: 'secret name' }, headers);
    await service.request('GET', '/plants/50?access_token=hidden', { headers });
    await service.request('GET', '/nothing', { headers });
    const lines = service.log.filter(({ requestId }) => requestId === 'log-test');
    expect(lines).toMatchObject([
      { method: 'POST', route: '/plants', status: 200, durationMs: expect.any(Number) },
      { method: 'GET', route: '/plants/:id', status: 200, durationMs: expect.any(Number) },
      { method: 'GET', status: 404, error: 40400, durationMs: expect.any(Number) },
    ]);
    expect(lines[0]).not.toHaveProperty('error');
    const text = JSON.stringify(service.log);
    for (const secret of [TOKEN, 'secret name', 'hidden']) expect(text).not.toContain(secret);
  });
});

describe('the line of a refused request', () => {
  it.each([
    ['POST', '/plants', { body: '{' }, 400, 40001],
    ['POST', '/plants', { body: '{"id":1}' }, 400, 40003],
    ['GET', '/plants/x', {}, 400, 40004],
    ['GET', '/plants/1', { anonymous: true }, 401, 40100],
    ['GET', '/plants/404', {}, 404, 40401],
    ['DELETE', '/docs', {}, 405, 40500],
  ])('of %s %s with %j has its error number', async (method, path, options, status, error) => {
    const requestId = `refused-${error}`;
    const headers = { 'Content-Type': 'application/json', 'X-Request-Id': requestId };
    await service.request(method, path, { ...options, headers });
    await vi.waitFor(() => {
      expect(service.log.filter((line) => line['requestId'] === requestId)).toMatchObject([
        { msg: 'request', method, status, error },
      ]);
    }, PATIENCE);
  });
});

describe('the client in the log', () => {
  it.each([
    ['is the connection when no proxy is trusted', {}, '127.0.0.1'],
    ['is what a trusted proxy says', { TRUST_PROXY: 'loopback' }, '203.0.113.7'],
    ['has its own form on a socket for both IP versions', { HOST: '::' }, '127.0.0.1'],
    [
      'is what a trusted proxy says there',
      { HOST: '::', TRUST_PROXY: '127.0.0.0/8' },
      '203.0.113.7',
    ],
    ['is what the nearest of the trusted proxies says', { TRUST_PROXY: '1' }, '203.0.113.7'],
  ])('%s', async (_, environment, client) => {
    const behind = await startTestService({ environment });
    await behind.request('GET', '/nothing', {
      headers: { 'X-Forwarded-For': '198.51.100.1, 203.0.113.7' },
    });
    expect(behind.log).toContainEqual(expect.objectContaining({ msg: 'request', client }));
    // Of those who leave without an answer as well.
    const socket = await RawSocket.open(behind.port);
    const fields = ['X-Forwarded-For: 203.0.113.7', 'X-Forwarded-Proto: https'];
    const body = ['Content-Type: application/json', 'Content-Length: 50', 'Expect: 100-continue'];
    const lines = ['POST /plants HTTP/1.1', 'Host: a', `Authorization: Bearer ${TOKEN}`, ...fields];
    socket.send([...lines, ...body, '', ''].join('\r\n'));
    expect((await socket.answer()).status).toBe(100);
    socket.reset();
    const msg = 'request abandoned by the client';
    await vi.waitFor(
      () => expect(behind.log).toContainEqual(expect.objectContaining({ msg, client })),
      PATIENCE,
    );
    const metrics = await (await fetch(`${behind.managementUrl}/metrics`)).text();
    const scheme = client === '127.0.0.1' ? 'http' : 'https';
    expect(metrics).toMatch(`http_request_method="POST",url_scheme="${scheme}"`);
    await behind.stop();
  });
});

/** The origins of apps and extensions. */
const APPS = [
  'capacitor://localhost',
  'ionic://localhost',
  'tauri://localhost',
  'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
  'moz-extension://01920000-0000-7000-8000-000000000001',
  'app://obsidian.md',
];

describe('CORS', () => {
  let open: TestService;

  beforeAll(async () => {
    open = await startTestService({
      environment: { CORS_ORIGINS: ['https://a.example, https://b.example', ...APPS].join() },
    });
  });

  afterAll(() => open.stop());

  it('is off unless origins are named', async () => {
    const answer = await service.request('OPTIONS', '/plants', {
      headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'POST' },
    });
    expect(answer.headers.has('access-control-allow-origin')).toBe(false);
  });

  it('lets the named origins send and read every field that the document describes, and pass on its trace', async () => {
    const { paths } = JSON.parse(await readFile(DOCUMENT, 'utf8')) as Document;
    const operations = Object.values(paths).flatMap((path) => Object.values(path));
    const sent = operations
      .flatMap(({ parameters }) => parameters)
      .filter((parameter) => parameter.in === 'header')
      .map(({ name }) => name);
    const received = operations
      .flatMap(({ responses }) => Object.values(responses))
      .flatMap(({ headers }) => Object.keys(headers ?? {}));
    // The last one lets a page go on with events.
    expect(sent).toEqual(expect.arrayContaining(['If-Match', 'Last-Event-ID']));
    const preflight = await open.request('OPTIONS', '/plants', {
      anonymous: true,
      headers: {
        Origin: 'https://b.example',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type',
      },
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      allow: allowOf('/plants'),
      'access-control-allow-origin': 'https://b.example',
    });
    const allowed = preflight.headers.get('access-control-allow-headers')?.split(',');
    const others = ['Authorization', 'Content-Type', 'traceparent', 'tracestate', 'baggage'];
    expect(allowed?.toSorted()).toEqual([...new Set([...sent, ...others])].toSorted());
    const { headers } = await open.post({ id: 1, name: 'a' }, { Origin: 'https://a.example' });
    expect(headers.get('access-control-allow-origin')).toBe('https://a.example');
    const exposed = headers.get('access-control-expose-headers')?.split(',');
    expect(exposed?.toSorted()).toEqual([...new Set([...received, 'Allow'])].toSorted());
  });

  it.each(APPS)('lets apps and extensions in: %s', async (Origin) => {
    const preflight = await open.request('OPTIONS', '/plants', {
      anonymous: true,
      headers: {
        Origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe(Origin);
    const { headers } = await open.post({ id: 1, name: 'a' }, { Origin });
    expect(headers.get('access-control-allow-origin')).toBe(Origin);
    expect(headers.get('vary')).toContain('Origin');
  });

  it.each(['https://evil.example', 'null', 'capacitor://evil', 'http://localhost', 'capacitor:'])(
    'lets no other origin in: %s',
    async (Origin) => {
      const answer = await open.post({ id: 1, name: 'a' }, { Origin });
      expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    },
  );
});

describe('a base path', () => {
  let below: TestService;

  beforeAll(async () => {
    below = await startTestService({
      environment: { PUBLIC_BASE_URL: 'https://shop.example.com/api/v1/' },
    });
  });

  afterAll(() => below.stop());

  it('carries all public routes', async () => {
    expect(below.url.endsWith('/api/v1')).toBe(true);
    expect((await below.post({ id: 1, name: 'a' })).status).toBe(200);
    expect((await below.request('GET', '/plants/1')).status).toBe(200);
  });

  it.each(['/', '/plants', '/api', '/api/v1x/plants', '/docs', '/openapi.json'])(
    'leaves nothing at %s',
    async (path) => {
      const response = await fetch(`http://127.0.0.1:${below.port}${path}`);
      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.json()).toMatchObject({ error: 40400 });
    },
  );

  it.each([
    ['PUT', '/docs', 405],
    ['GET', '/nothing', 404],
    ['OPTIONS', '/plants', 204],
  ])('answers %s %s like a service without one', async (method, path, status) => {
    expect((await below.request(method, path)).status).toBe(status);
  });

  it('answers OPTIONS * like a service without one', async () => {
    const socket = await RawSocket.open(below.port);
    socket.send('OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await socket.answer()).toMatchObject({
      status: 204,
      headers: { allow: allowOf('*') },
    });
    socket.destroy();
  });
});
