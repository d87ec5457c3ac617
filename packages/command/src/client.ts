import { request as requestHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { ReadableStream } from 'node:stream/web';
import { Connection as Client, LONGEST_WAIT, ServiceError } from '@resource-service/client/runtime';
import type { Call } from '@resource-service/client/runtime';
import { ContactError, reasonOf, TemporaryFailure, textOf } from './command-error.js';
import type { Connection } from './connection/connection.js';
import { oneOf } from './service.js';

export const NDJSON = 'application/x-ndjson';

/**
 * Sends a request with the token, and reads the response of status 200.
 *
 * @param signal ends the response, too
 * @throws TemporaryFailure if another attempt may succeed
 */
export async function send<T>(
  connection: Connection,
  call: Omit<Call, 'signal'>,
  signal: AbortSignal,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const token = await connection.token();
  const client = new Client({
    url: connection.baseUrl,
    token,
    fetch: (request) => fetchBy(connection, request, signal),
    // `Retries` repeats, and the connection has a timeout of its own.
    retries: 0,
    timeout: LONGEST_WAIT,
  });
  try {
    return await client.stream({ ...call, signal }, read);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { status, retryAfter = 0 } = error;
    // A file may hold a new token by now.
    const isOutdated = status === 401 && (await connection.token()) !== token;
    if (status === 408 || status === 429 || status >= 500 || isOutdated) {
      throw new TemporaryFailure(textOf(reasonOf(error)), retryAfter * 1_000);
    }
    throw error;
  }
}

/**
 * Like `fetch`, with node:http: its timeout counts each byte that is sent, so a slow uplink is not idle, it tells when there is a
 * connection, and it never follows a redirect with the token.
 */
async function fetchBy(
  connection: Connection,
  request: Request,
  signal: AbortSignal,
): Promise<Response> {
  const incoming = await responseTo(connection, request, signal);
  const { statusCode: status = 0, statusMessage: statusText = '', headers } = incoming;
  if (status === 200) {
    const type = headers['content-type'];
    if (!type?.startsWith(request.headers.get('Accept')!)) {
      incoming.destroy();
      const { variables, identity } = connection.service;
      throw new ContactError(`${variables.url} does not lead to ${oneOf(identity)}`);
    }
  } else if (status < 400 || status > 599) {
    incoming.destroy();
    const target = headers.location === undefined ? '' : ` to ${headers.location}`;
    throw new ContactError(`the answer was ${status} ${statusText}${target}`);
  }
  const retryAfter = headers['retry-after'] ?? '';
  const init = { status, statusText, headers: { 'Retry-After': retryAfter } };
  return new Response(
    ReadableStream.from(bytesOf(incoming)) as ConstructorParameters<typeof Response>[0],
    init,
  );
}

async function* bytesOf(incoming: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* incoming as AsyncIterable<Buffer>;
  } catch (error) {
    throw temporary(error);
  }
}

async function responseTo(
  { baseUrl, contact, limits: { idle } }: Connection,
  { method, url, headers, body }: Request,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const isTls = baseUrl.startsWith('https:');
  const content = body && Buffer.from(await new Response(body).arrayBuffer());
  return new Promise((resolve, reject) => {
    const options = { method, signal, timeout: idle, headers: Object.fromEntries(headers) };
    const outgoing = (isTls ? requestHttps : requestHttp)(url, options, resolve);
    const attempt = contact.attempt((error) => outgoing.destroy(error));
    outgoing.once('socket', (socket: Socket) => {
      if (!socket.connecting) return attempt.connected();
      socket.once(isTls ? 'secureConnect' : 'connect', () => attempt.connected());
    });
    outgoing.once('timeout', () =>
      outgoing.destroy(new Error(`nothing was sent or received for ${idle} ms`)),
    );
    // `on`, because the connection may also fail after the response has come.
    outgoing.on('error', (error) => {
      attempt.end();
      reject(attempt.isConnected ? temporary(error) : attempt.failure(error));
    });
    // The whole body at once, so that its length is sent.
    outgoing.end(content);
  });
}

/** A failure of the network. */
function temporary(error: unknown): unknown {
  if (!(error instanceof Error) || error.name === 'AbortError') return error;
  if (error.message === 'aborted') return new TemporaryFailure('the connection broke');
  // The error of several addresses (happy eyeballs) has no message.
  return new TemporaryFailure(error.message || String((error as NodeJS.ErrnoException).code));
}
