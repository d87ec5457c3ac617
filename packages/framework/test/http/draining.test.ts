import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { Express, NextFunction, Request, Response } from 'express';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ErrorFilter } from '../../src/http/errors/error.filter.js';
import { LAST_CALL } from '../../src/http/server/drain.js';
import type { HttpServer } from '../../src/http/server/http-server.js';
import { HTTP_LIMITS } from '../../src/http/server/limits.js';
import { addressText, listen } from '../../src/http/server/listen.js';
import { ServiceAdapter } from '../../src/http/server/service.adapter.js';
import { requestId } from '../../src/http/server/request-id.js';
import { createLogger } from '../../src/observability/logger.js';
import { Metrics } from '../../src/observability/metrics.js';
import { NO_TRACER } from '../../src/observability/tracer.js';
import { PATIENCE, processTimeOf } from '../support/patience.js';
import { RawSocket } from '../support/raw-socket.js';
import { IDENTITY } from '../support/identity.js';

/* The steps of a drain, on a server whose answers the test gives. slow/drain.test.ts shows the shutdown of the whole
   service. */

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

let server: HttpServer;
let port: number;
let responses: Response[];

beforeEach(async () => {
  responses = [];
  const logger = createLogger('silent');
  const metrics = new Metrics(IDENTITY);
  const filter = new ErrorFilter({ identity: IDENTITY }, logger, metrics);
  const adapter = new ServiceAdapter(
    { ...HTTP_LIMITS, keepAlive: 5_000 },
    { logger, metrics, tracer: NO_TRACER },
  );
  adapter.initHttpServer();
  server = adapter.getHttpServer() as HttpServer;
  adapter.getInstance<Express>().use(
    (request: Request, response: Response) => {
      requestId(request);
      responses.push(response);
      server.emit('held');
    },
    (failure: unknown, request: Request, response: Response, _next: NextFunction) =>
      // oxlint-disable-next-line promise/valid-params -- The method of a filter, not of a promise.
      filter.catch(failure, new ExecutionContextHost([request, response])),
  );
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
  it('is not held up by a client that sends CONNECT and reads no answer', async () => {
    const client = connect(port, '127.0.0.1').pause();
    client.on('error', () => {});
    const held = once(server, 'held');
    client.write(`${REQUEST}CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`);
    await held;
    responses[0]?.end(Buffer.alloc(20_000_000));
    await server.drain(50);
    client.destroy();
  });

  it('answers 503 to requests that still run after the timeout', async () => {
    const socket = await hold();
    await server.drain(50);
    const answer = await socket.answer();
    expect(answer).toMatchObject({
      status: 503,
      headers: { connection: 'close', 'retry-after': '1' },
    });
    expect(JSON.parse(answer.body)).toMatchObject({ error: 50302 });
    // The log line of the request contains it.
    expect(responses[0]?.error).toBe(50302);
  });

  it('cuts off an answer that never ends', async () => {
    const socket = await hold();
    responses[0]?.write('half');
    await server.drain(50);
    await socket.end();
  });

  it('answers a request that a proxy sends on an idle connection meanwhile', async () => {
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

  it('answers a request that has arrived on an idle connection, even on a busy event loop', async () => {
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

  it('closes an idle connection after a second, while other requests still run', async () => {
    const idle = await hold();
    responses[0]?.end('done');
    await idle.answer();
    const busy = await hold();
    const drained = server.drain(10_000);
    await vi.waitUntil(() => !server.listening, PATIENCE);
    await idle.end(LAST_CALL + 2_000);
    responses[1]?.end('done');
    expect(await busy.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await drained;
  });

  it('ends at once when no request is running', async () => {
    expect(await processTimeOf(server.drain(10_000))).toBeLessThan(LAST_CALL);
    expect(server.listening).toBe(false);
  });
});

describe('listening', () => {
  const variables = { host: 'HOST', port: 'PORT' };

  it('on :: takes clients of both IP versions', async () => {
    const both = createServer((_request, response) => response.end());
    const address = await listen(both, { host: '::', port: 0, variables });
    const hasIpv6 = Object.values(networkInterfaces())
      .flat()
      .some((one) => one?.address === '::1');
    for (const host of ['127.0.0.1', ...(hasIpv6 ? ['[::1]'] : [])]) {
      expect((await fetch(`http://${host}:${address.port}`)).status).toBe(200);
    }
    expect(addressText(address)).toMatch(hasIpv6 ? /^\[::\]:\d+$/ : /^(\[::\]|0\.0\.0\.0):\d+$/);
    both.close();
  });

  it('names the variable when the machine does not have the address', async () => {
    await expect(listen(createServer(), { host: '192.0.2.1', port: 0, variables })).rejects.toThrow(
      'HOST: this machine cannot listen on 192.0.2.1 (EADDRNOTAVAIL): set HOST to an address of its own',
    );
  });

  it('names the variable when the user has no permission for the port', async () => {
    const refused = createServer();
    refused.listen = () => {
      process.nextTick(() => refused.emit('error', Object.assign(new Error(), { code: 'EACCES' })));
      return refused;
    };
    await expect(listen(refused, { host: '127.0.0.1', port: 80, variables })).rejects.toThrow(
      'PORT: this user has no permission to listen on port 80: set PORT to one from 1024',
    );
    expect((server.address() as AddressInfo).port).toBe(port);
  });
});
