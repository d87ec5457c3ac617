import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { RequestHandler } from 'express';
import { afterEach, expect, it } from 'vitest';
import { EventStream } from '../../src/http/responses/event-stream.js';

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function serve(handler: RequestHandler): Promise<string> {
  const server = createServer(express().get('/', handler));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('a stream is not sent, and releases its slot, if the shutdown has answered the request already', async () => {
  let ended = false;
  async function* parts() {
    try {
      yield '';
      yield 'id: 1\n\n';
    } finally {
      ended = true;
    }
  }
  const url = await serve(async (_, response) => {
    const events = parts();
    await events.next();
    response.status(503).send('no');
    await new EventStream(events).send(response, 200);
  });
  expect(await (await fetch(url)).text()).toBe('no');
  expect(ended).toBe(true);
});

it('a stream that fails hands on the failure', async () => {
  const failure = new Error('the database');
  async function* parts() {
    yield 'id: 1\n\n';
    throw failure;
  }
  let passed: unknown;
  const url = await serve((request, response) => {
    request.next = (error) => {
      passed = error;
      response.destroy();
    };
    void new EventStream(parts()).send(response, 200);
  });
  await expect(fetch(url).then((response) => response.text())).rejects.toThrow('terminated');
  expect(passed).toBe(failure);
});
