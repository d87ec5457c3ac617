import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { HttpServer } from '../../src/http/server/http-server.js';
import { HTTP_LIMITS } from '../../src/http/server/limits.js';
import { PATIENCE } from '../support/patience.js';
import { RawSocket } from '../support/raw-socket.js';

const MB = 1024 * 1024;

/** A request with as many header fields as Node.js accepts. */
const LONG = `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(15_000)}\r\n\r\n`;

/** A request with a body that nobody reads before the response is there. */
const WITH_BODY = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 15000\r\n\r\n${'x'.repeat(15_000)}`;

/** Requests on a connection. */
const COUNT = 90;

let server: HttpServer;
let sockets: RawSocket[];
let first: ServerResponse[];
let isOpen: boolean;

beforeEach(async () => {
  sockets = [];
  first = [];
  isOpen = false;
  server = new HttpServer(
    { ...HTTP_LIMITS, keepAlive: 5_000 },
    { serve: (_, response) => void (isOpen ? response.end() : first.push(response)) },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  server.close();
});

/** Sends many requests on each of some connections, of which the first is not answered. */
async function pipeline(connections: number, text = LONG): Promise<void> {
  const { port } = server.address() as AddressInfo;
  for (let n = 0; n < connections; n += 1) {
    const socket = await RawSocket.open(port);
    sockets.push(socket);
    void socket.flood(COUNT * text.length, Buffer.from(text));
  }
  await vi.waitFor(() => expect(first).toHaveLength(connections), PATIENCE);
}

/** How many requests of each connection are answered, and whether it is then refused. */
async function answers(): Promise<readonly { answered: number; isRefused: boolean }[]> {
  isOpen = true;
  for (const response of first) response.end();
  return Promise.all(
    sockets.map(async (socket) => {
      for (let answered = 0; ; answered += 1) {
        if (answered === COUNT) return { answered, isRefused: false };
        const { status, body } = await socket.answer();
        if (status !== 200) {
          expect([status, body]).toEqual([429, expect.stringContaining('42904')]);
          return { answered, isRefused: true };
        }
      }
    }),
  );
}

it.each([
  ['header fields', LONG],
  ['a body', WITH_BODY],
])('requests with %s that wait for others have 16 MiB, and more are refused', async (_, text) => {
  await pipeline(20, text);
  // Whatever a connection has sent was read, or the connection was refused.
  await vi.waitFor(() => {
    const unread = sockets.filter(({ peer }) => peer!.bytesRead < COUNT * text.length);
    expect(unread.length).toBeLessThan(16);
  }, PATIENCE);
  const waited = await answers();
  const bytes = waited.reduce((sum, { answered }) => sum + answered * text.length, 0);
  expect(bytes).toBeLessThan(17 * MB);
  expect(waited.some(({ isRefused }) => isRefused)).toBe(true);
  expect(waited[0]).toEqual({ answered: COUNT, isRefused: false });
});

it('requests that waited leave room for others, answered or not', async () => {
  for (let round = 0; round < 4; round += 1) {
    await pipeline(8);
    if (round % 2 === 0) {
      expect(await answers()).toEqual(sockets.map(() => ({ answered: COUNT, isRefused: false })));
    }
    sockets.length = 0;
    first.length = 0;
    isOpen = false;
    for (const socket of server.openConnections.keys()) socket.destroy();
    await vi.waitFor(() => expect(server.openConnections.size).toBe(0), PATIENCE);
  }
});
