import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ServiceException } from '../../src/errors/service.exception.js';
import { boundedResponse, requireRoomFor } from '../../src/http/responses/bounded-response.js';
import { sendJson } from '../../src/http/responses/send-json.js';
import { PATIENCE } from '../support/patience.js';

const MB = 1024 * 1024;
const MAX = 64 * MB;

/** What a response has besides its content. */
const HEADER = 1_024;

const clients: Client[] = [];

beforeEach(() => {
  // A busy machine must not make a client lose its patience.
  vi.spyOn(performance, 'now').mockReturnValue(1_000);
});

afterEach(async () => {
  vi.restoreAllMocks();
  for (const client of clients.splice(0)) client.destroy();
  // Nothing is left: a response that needs all of the memory has room.
  await vi.waitFor(() => requireRoomFor(MAX), PATIENCE);
});

/** The server's end of a connection whose kernel takes nothing until the client reads. */
class Client extends Duplex {
  private taken: (() => void) | undefined;
  private isReading = false;
  received = '';

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, taken: () => void): void {
    this.taken = () => {
      this.received += chunk.toString('latin1');
      taken();
    };
    if (this.isReading) this.taken();
  }

  startReading(): void {
    this.isReading = true;
    this.taken?.();
  }
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

function serve(handle: Handle): Server {
  return createServer({ ServerResponse: boundedResponse() }, handle);
}

/** Connects clients that do not read, and waits until the server has answered or cut off each. */
async function connect(server: Server, count: number): Promise<readonly Client[]> {
  const all = Array.from({ length: count }, () => {
    const client = new Client();
    client.on('error', () => {});
    clients.push(client);
    server.emit('connection', client);
    client.push('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    return client;
  });
  await vi.waitFor(
    () => expect(all.filter((one) => !one.destroyed && one.writableLength === 0)).toEqual([]),
    PATIENCE,
  );
  return all;
}

function unread(all: readonly Client[]): number {
  return all.reduce((sum, one) => sum + (one.destroyed ? 0 : one.writableLength), 0);
}

describe('responses that clients do not read', () => {
  const text = 'x'.repeat(300_000);

  it.each<{ readonly how: string; readonly handle: Handle; readonly count?: number }>([
    { how: 'texts', handle: (_, response) => void response.end(text) },
    { how: 'texts after a head', handle: (_, response) => void response.writeHead(200).end(text) },
    { how: 'bytes', handle: (_, response) => void response.end(Buffer.from(text)) },
    {
      how: 'short texts',
      handle: (_, response) => void response.end('é'.repeat(7_000)),
      count: 6_000,
    },
    { how: 'streams', handle: (_, response) => void response.write(text) },
    { how: 'streams of bytes', handle: (_, response) => void response.write(Buffer.from(text)) },
  ])('take 64 MiB: $how', async ({ handle, count = 300 }) => {
    const all = await connect(serve(handle), count);
    expect(unread(all)).toBeLessThan(MAX + count * HEADER);
    expect(unread(all)).toBeGreaterThan(MAX / 2);
    // Whoever is cut off makes no room for the next one.
    expect(all[0]!.destroyed).toBe(false);
  });

  it('are refused before they are written if they are long JSON', async () => {
    const server = serve((_, response) => {
      try {
        sendJson(response, 200, text);
      } catch (error) {
        if (!(error instanceof ServiceException)) throw error;
        response.writeHead(503).end();
      }
    });
    const all = await connect(server, 300);
    expect(unread(all)).toBeLessThan(MAX + 300 * HEADER);
    expect(all.filter(({ destroyed }) => destroyed)).toEqual([]);
    const last = all.at(-1)!;
    last.startReading();
    await vi.waitFor(() => expect(last.received).toContain(' 503 '), PATIENCE);
  });

  it('count once if they are the same bytes', async () => {
    const page = Buffer.alloc(217_000, 'x');
    const all = await connect(
      serve((_, response) => void response.end(page)),
      400,
    );
    expect(all.filter(({ destroyed }) => destroyed)).toEqual([]);
    requireRoomFor(MAX - MB);
  });

  it('count no longer when they have been read', async () => {
    const all = await connect(
      serve((_, response) => void response.end(text)),
      200,
    );
    expect(() => requireRoomFor(MAX / 2)).toThrow(ServiceException);
    for (const client of all) client.startReading();
    await vi.waitFor(() => requireRoomFor(MAX), PATIENCE);
    expect(all.every(({ received }) => received.endsWith(text))).toBe(true);
  });

  it('count each chunk of a stream until it has been read', async () => {
    const streams: ServerResponse[] = [];
    const server = serve((_, response) => {
      streams.push(response);
      response.write('x'.repeat(60 * MB));
    });
    const [client] = await connect(server, 1);
    expect(() => requireRoomFor(5 * MB)).toThrow(ServiceException);
    client!.startReading();
    await vi.waitFor(() => requireRoomFor(MAX), PATIENCE);
    expect(streams[0]!.closed).toBe(false);
  });
});
