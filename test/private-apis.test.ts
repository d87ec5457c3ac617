import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, expect, it, vi } from 'vitest';
import { stopParsing } from '../src/http/body/unread-body.js';
import { closeStalled } from '../src/http/server/close-stalled.js';
import type { Connection } from '../src/http/server/connection.js';
import { HTTP_LIMITS } from '../src/http/server/limits.js';
import { PATIENCE } from './support/patience.js';

/* What docs/private-apis.md lists and no other test would miss. */

const sockets: Socket[] = [];
const servers: Server[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

async function connectTo(server: Server): Promise<Socket> {
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(client);
  return client;
}

it("a socket's handle tells how much of a long write has left", async () => {
  const server = createServer();
  const accepted = once(server, 'connection');
  const client = (await connectTo(server)).pause();
  const [socket] = (await accepted) as [Socket];
  sockets.push(socket);
  const length = 64 * 1024 * 1024;
  socket.write(Buffer.alloc(length));
  const connection = { current: {}, unsent: 0, movedAt: 0 };
  const connections = new Map([[socket, connection as unknown as Connection]]);
  const unsent = () => {
    closeStalled(connections, HTTP_LIMITS);
    return connection.unsent - socket.writableLength;
  };
  // The kernel has taken the first bytes. The stream counts the write until all of it has left.
  await vi.waitUntil(() => unsent() < length, PATIENCE);
  const before = unsent();
  client.resume();
  await vi.waitUntil(() => unsent() < before || socket.writableLength === 0, PATIENCE);
  client.pause();
  expect(socket.writableLength).toBe(length);
});

it("a listener for data takes a socket away from Node's HTTP parser", async () => {
  const requests = vi.fn();
  const server = createHttpServer(requests);
  const client = await connectTo(server);
  const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
  client.write(request);
  await vi.waitUntil(() => requests.mock.calls.length > 0, PATIENCE);
  const [{ socket }] = requests.mock.calls[0] as [{ readonly socket: Socket }];
  stopParsing(socket);
  socket.resume();
  client.write(request);
  await vi.waitUntil(() => socket.bytesRead === 2 * request.length, PATIENCE);
  expect(requests).toHaveBeenCalledTimes(1);
});

it('V8 has the flag that bounds the growth of the heap', async () => {
  const run = promisify(execFile)(process.execPath, ['--heap-growing-percent=30', '--eval', '']);
  await expect(run).resolves.toEqual({ stdout: '', stderr: '' });
});
