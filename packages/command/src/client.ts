import { request as requestHttp } from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { ContactError, TemporaryFailure, textOf } from './command-error.js';
import type { Reason } from './command-error.js';
import type { Connection } from './connection.js';
import { oneOf } from './service.js';

export const NDJSON = 'application/x-ndjson';

/** The request was answered with a status that another attempt would not change. */
export class RequestRefused extends ContactError {
  constructor(
    readonly status: number,
    readonly reason: Reason,
  ) {
    super(textOf(reason));
  }
}

export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: Buffer;
  /** The media type of the answer. NDJSON by default. */
  readonly accept?: string;
  readonly signal: AbortSignal;
}

/**
 * Sends a request with the token. node:http and not `fetch`: its timeout counts each byte that is sent, so a slow
 * uplink is not idle, and it never follows a redirect with the token.
 *
 * @returns the answer of status 200, whose body is read by the caller
 * @throws TemporaryFailure if another attempt may succeed, otherwise RequestRefused
 */
export async function open(
  connection: Connection,
  { method, path, body, accept = NDJSON, signal }: Request,
): Promise<IncomingMessage> {
  const token = await connection.token();
  const options: RequestOptions = {
    method,
    signal,
    timeout: connection.idle,
    headers: {
      Authorization: `Bearer ${token}`,
      Accept: accept,
      ...(body && { 'Content-Type': NDJSON, 'Content-Length': body.length }),
    },
  };
  const response = await send(connection, path, options, body);
  const { statusCode: status = 0, headers } = response;
  if (status === 200) {
    if (headers['content-type']?.startsWith(accept)) return response;
    response.destroy();
    const { variables, identity } = connection.service;
    throw new ContactError(`${variables.url} does not lead to ${oneOf(identity)}`);
  }
  const failure = await failureOf(response);
  if (status === 408 || status === 429 || status >= 500) {
    throw new TemporaryFailure(textOf(failure), millisecondsOf(headers['retry-after']));
  }
  // A file may hold a new token by now.
  if (status === 401 && (await connection.token()) !== token) {
    throw new TemporaryFailure(textOf(failure));
  }
  throw new RequestRefused(status, failure);
}

/** The text of an answer. */
export async function readText(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  try {
    for await (const piece of response) text += piece as string;
  } catch (error) {
    throw temporary(error);
  }
  return text;
}

/** A failure of the network. */
export function temporary(error: unknown): unknown {
  if (!(error instanceof Error) || error.name === 'AbortError') return error;
  if (error.message === 'aborted') return new TemporaryFailure('the connection broke');
  // The error of several addresses (happy eyeballs) has no message.
  return new TemporaryFailure(error.message || String((error as NodeJS.ErrnoException).code));
}

function send(
  { baseUrl, contact }: Connection,
  path: string,
  options: RequestOptions,
  body?: Buffer,
): Promise<IncomingMessage> {
  const isTls = baseUrl.startsWith('https:');
  return new Promise((resolve, reject) => {
    const request = (isTls ? requestHttps : requestHttp)(baseUrl + path, options, resolve);
    const attempt = contact.attempt((error) => request.destroy(error));
    request.once('socket', (socket: Socket) => {
      if (!socket.connecting) return attempt.connected();
      socket.once(isTls ? 'secureConnect' : 'connect', () => attempt.connected());
    });
    request.once('timeout', () =>
      request.destroy(new Error(`nothing was sent or received for ${options.timeout} ms`)),
    );
    // `on`, because the connection may also fail after the answer has come.
    request.on('error', (error) => {
      attempt.end();
      reject(attempt.isConnected ? temporary(error) : attempt.failure(error));
    });
    request.end(body);
  });
}

/** Number and message of an Error, or the status of an answer from a proxy. */
async function failureOf(response: IncomingMessage): Promise<Reason> {
  const { statusCode, statusMessage, headers } = response;
  try {
    const { error, message } = JSON.parse(await readText(response)) as Record<string, unknown>;
    if (typeof error === 'number' && typeof message === 'string') return { error, message };
  } catch {
    // It has no Error.
  }
  const target = headers.location === undefined ? '' : ` to ${headers.location}`;
  return { message: `the answer was ${statusCode} ${statusMessage}${target}` };
}

/** Retry-After is a number of seconds or a date (RFC 9110, section 10.2.3). */
function millisecondsOf(retryAfter = ''): number {
  const wait = /^\d+$/.test(retryAfter)
    ? Number(retryAfter) * 1_000
    : Date.parse(retryAfter) - Date.now();
  return Math.max(0, wait || 0);
}
