import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { Message } from '../../src/outgoing/signatures.js';

export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSw';

export function message(body = '{"type":"tool.created"}'): Message {
  return { id: 'msg_1', timestamp: new Date(), body };
}

interface Request {
  readonly headers: IncomingHttpHeaders & Record<string, string>;
  readonly body: string;
}

export interface Receiver {
  readonly port: number;
  readonly url: string;
  readonly server: TcpServer;
  readonly requests: readonly Request[];
}

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

type Respond = (response: ServerResponse) => unknown;

/** Responds to the first message of each connection, and does something else with the next one. */
export function breakReused(
  end: (socket: Socket) => unknown = (socket) => socket.destroy(),
): Respond {
  const used = new Set<Socket>();
  return (response) => {
    const socket = response.socket!;
    if (used.has(socket)) return end(socket);
    used.add(socket);
    return response.writeHead(204).end();
  };
}

/** A server on loopback that keeps what it gets, and ends with the test. */
export async function startReceiver(
  respond: Respond = (response) => response.writeHead(204).end(),
  certificate?: Certificate,
): Promise<Receiver> {
  const requests: Request[] = [];
  const listener: RequestListener = (request, response) =>
    void text(request).then((body) => {
      requests.push({ headers: request.headers as Request['headers'], body });
      return respond(response);
    });
  const server: Server =
    certificate === undefined ? createServer(listener) : createTlsServer(certificate, listener);
  const { port } = await listen(server);
  onTestFinished(() => server.closeAllConnections());
  const protocol = certificate === undefined ? 'http' : 'https';
  return { port, url: `${protocol}://127.0.0.1:${port}/`, server, requests };
}

/** A server that may do without HTTP. */
export async function startRawReceiver(connected: (socket: Socket) => unknown) {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    connected(socket);
  });
  const { port } = await listen(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { port, url: `http://127.0.0.1:${port}/`, sockets };
}

async function listen(server: TcpServer): Promise<AddressInfo> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return server.address() as AddressInfo;
}
