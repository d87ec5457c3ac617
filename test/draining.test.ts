import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Request, Response } from 'express';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HttpServer, LAST_CALL } from '../src/http/http-server.js';
import { HTTP_LIMITS } from '../src/http/limits.js';
import { listen } from '../src/http/listen.js';
import { requestId } from '../src/http/request-id.js';
import { createLogger } from '../src/observability/logger.js';
import { Metrics } from '../src/observability/metrics.js';
import { NO_TRACER } from '../src/observability/tracer.js';
import { PATIENCE } from './support/patience.js';
import { RawSocket } from './support/raw-socket.js';

/* The pieces of shutting down, on a server whose answers the test gives. With the whole service it is
   in drain.test.ts. */

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

let server: HttpServer;
let port: number;
let responses: Response[];

beforeEach(async () => {
  responses = [];
  const app = express().use((request: Request, response: Response) => {
    requestId(request);
    responses.push(response);
    server.emit('held');
  });
  server = new HttpServer(app, HTTP_LIMITS, {
    logger: createLogger('silent'),
    metrics: new Metrics(),
    tracer: NO_TRACER,
  });
  ({ port } = await listen(server, {
    host: '127.0.0.1',
    port: 0,
    variables: { host: 'HOST', port: 'PORT' },
  }));
});

afterEach(() => server.closeAllConnections());

async function hold(): Promise<RawSocket> {
  const socket = await RawSocket.open(port);
  const held = once(server, 'held');
  socket.send(REQUEST);
  await held;
  return socket;
}

describe('draining', () => {
  it('waits for what is under way, and makes it the last answer of its connection', async () => {
    const socket = await hold();
    const drained = server.drain(10_000);
    await vi.waitUntil(() => !server.listening, PATIENCE);
    responses[0]?.end('done');
    expect(await socket.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await drained;
    expect(server.listening).toBe(false);
  });

  it('refuses what is still under way at its end', async () => {
    const socket = await hold();
    await server.drain(50);
    const answer = await socket.answer();
    expect(answer).toMatchObject({
      status: 503,
      headers: { connection: 'close', 'retry-after': '1' },
    });
    expect(JSON.parse(answer.body)).toMatchObject({ error: 50302 });
    // For the line of the log.
    expect(responses[0]?.error).toBe(50302);
  });

  it('cuts off an answer that never ends', async () => {
    const socket = await hold();
    responses[0]?.write('half');
    await server.drain(50);
    await socket.end();
  });

  it('serves a request that was on its way, as the last one of its connection', async () => {
    const socket = await RawSocket.open(port);
    socket.send(REQUEST.slice(0, 10));
    const busy = await hold();
    const drained = server.drain(10_000);
    await vi.waitUntil(() => !server.listening, PATIENCE);
    const held = once(server, 'held');
    socket.send(REQUEST.slice(10));
    await held;
    for (const response of responses) response.end('done');
    expect(await socket.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(await busy.answer()).toMatchObject({ status: 200 });
    await drained;
  });

  it('answers a request that crosses it on an idle connection, as a proxy keeps them', async () => {
    const socket = await hold();
    responses[0]?.end('done');
    expect(await socket.answer()).toMatchObject({ headers: { connection: 'keep-alive' } });
    const drained = server.drain(10_000);
    await vi.waitUntil(() => !server.listening, PATIENCE);
    await expect(RawSocket.open(port)).rejects.toThrow('ECONNREFUSED');
    const held = once(server, 'held');
    socket.send(REQUEST);
    await held;
    responses[1]?.end('done');
    expect(await socket.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await drained;
  });

  it('answers what has arrived on an idle connection that would be ended, however busy it was', async () => {
    const socket = await hold();
    responses[0]?.end('done');
    await socket.answer();
    const drained = server.drain(10_000);
    await vi.waitUntil(() => !server.listening, PATIENCE);
    server.once('held', () => responses[1]?.end('done'));
    socket.send(REQUEST);
    const busyUntil = performance.now() + LAST_CALL;
    while (performance.now() < busyUntil);
    expect(await socket.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await drained;
  });

  it('ends an idle connection after a moment, while others are still answered', async () => {
    const idle = await hold();
    responses[0]?.end('done');
    await idle.answer();
    const busy = await hold();
    const drained = server.drain(10_000);
    await vi.waitUntil(() => !server.listening, PATIENCE);
    await idle.end();
    responses[1]?.end('done');
    expect(await busy.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await drained;
  });

  it('is over at once when nothing is under way', async () => {
    await server.drain(10_000);
    expect(server.listening).toBe(false);
  });
});

describe('listening', () => {
  const variables = { host: 'HOST', port: 'PORT' };

  it('names the variable when the port is taken', async () => {
    await expect(listen(createServer(), { host: '127.0.0.1', port, variables })).rejects.toThrow(
      `PORT: port ${port} on 127.0.0.1 is used by another program`,
    );
  });

  it('names the variable when the address is not one of this machine', async () => {
    await expect(listen(createServer(), { host: '192.0.2.1', port: 0, variables })).rejects.toThrow(
      'HOST: this machine cannot listen on 192.0.2.1 (EADDRNOTAVAIL)',
    );
  });

  it('names the variable when the account may not have the port', async () => {
    const refused = createServer();
    refused.listen = () => {
      process.nextTick(() => refused.emit('error', Object.assign(new Error(), { code: 'EACCES' })));
      return refused;
    };
    await expect(listen(refused, { host: '127.0.0.1', port: 80, variables })).rejects.toThrow(
      'PORT: this user has no permission to listen on port 80',
    );
    expect((server.address() as AddressInfo).port).toBe(port);
  });
});
