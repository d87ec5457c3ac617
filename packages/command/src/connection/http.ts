import { request as requestHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { ReadableStream } from 'node:stream/web';
import { ContactError, TemporaryError, Unreachable } from '../command-error.js';
import { oneOf } from '../service.js';
import type { Connection } from './connection.js';
import { inSeconds } from './limits.js';

const NO_CONTENT = 204;

/**
 * What takes the place of `fetch`: the timeout of node:http counts each byte that is sent, so a slow uplink is not idle, it tells
 * when there is a connection, and it never follows a redirect with the token.
 */
export class HttpClient {
  private isReached = false;
  /** An address that has never worked is probably wrong, so the first connection has less time. */
  private deadline: number | undefined;

  /** @param signal ends the responses, too */
  constructor(
    private readonly connection: Connection,
    private readonly signal: AbortSignal,
  ) {}

  async fetch(request: Request): Promise<Response> {
    const incoming = await this.responseTo(request);
    const { statusCode: status = 0, statusMessage: statusText = '', headers } = incoming;
    try {
      await this.check(incoming, request.headers);
    } catch (error) {
      incoming.destroy();
      throw error;
    }
    const init = { status, statusText, headers: { 'Retry-After': headers['retry-after'] ?? '' } };
    if (status === NO_CONTENT) incoming.resume();
    const body = status === NO_CONTENT ? null : ReadableStream.from(incoming);
    return new Response(body as ConstructorParameters<typeof Response>[0], init);
  }

  /** Rejects what is not from the service. */
  private async check(
    { statusCode: status = 0, statusMessage, headers }: IncomingMessage,
    sent: Headers,
  ): Promise<void> {
    const { service, token } = this.connection;
    if (status === NO_CONTENT) return;
    if (status === 200 || status === 201) {
      if (headers['content-type']?.startsWith(sent.get('Accept')!)) return;
      throw new ContactError(
        `${service.variables.url} does not lead to ${oneOf(service.identity)}`,
      );
    }
    if (status < 400 || status > 599) {
      const target = headers.location === undefined ? '' : ` to ${headers.location}`;
      throw new ContactError(`the response was ${status} ${statusMessage}${target}`);
    }
    // A file may hold a new token by now.
    if (status === 401 && sent.get('Authorization') !== `Bearer ${await token()}`) {
      throw new TemporaryError(`the response was 401 ${statusMessage}`);
    }
  }

  private async responseTo({ method, url, headers, body }: Request): Promise<IncomingMessage> {
    const { baseUrl, limits } = this.connection;
    const isTls = baseUrl.startsWith('https:');
    const content = body && Buffer.from(await new Response(body).arrayBuffer());
    this.deadline ??= performance.now() + limits.firstContact;
    const left = Math.max(1, this.deadline - performance.now());
    let isConnected = false;
    return new Promise((resolve, reject) => {
      const outgoing = (isTls ? requestHttps : requestHttp)(
        url,
        { method, signal: this.signal, timeout: limits.idle, headers: Object.fromEntries(headers) },
        resolve,
      );
      const giveUp = () =>
        outgoing.destroy(new Error(`none within ${inSeconds(limits.firstContact)}`));
      const timer = this.isReached ? undefined : setTimeout(giveUp, left);
      const connected = () => {
        isConnected = true;
        this.isReached = true;
        clearTimeout(timer);
      };
      outgoing.once('socket', (socket: Socket) => {
        if (socket.connecting) socket.once(isTls ? 'secureConnect' : 'connect', connected);
        else connected();
      });
      outgoing.once('timeout', () =>
        outgoing.destroy(new Error(`nothing was sent or received for ${limits.idle} ms`)),
      );
      // `on`, because the connection may also fail after the response has come.
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        reject(
          isConnected
            ? new TemporaryError(reasonOf(error))
            : new Unreachable(sentenceFor(baseUrl, error), !this.isReached),
        );
      });
      // The whole body at once, so that its length is sent.
      outgoing.end(content);
    });
  }
}

export function sentenceFor(baseUrl: string, error: NodeJS.ErrnoException): string {
  const { code } = error;
  const { hostname, host, port, protocol } = new URL(baseUrl);
  const address = port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host;
  if (code === 'ECONNREFUSED') return `${address} refuses connections (${code})`;
  if (code === 'ENOTFOUND') return `the host ${hostname} is unknown (${code})`;
  if (code === 'EAI_AGAIN') return `the host ${hostname} cannot be looked up (${code})`;
  return `no connection to ${address}: ${reasonOf(error)}`;
}

/** The error of several addresses (happy eyeballs) has no message. */
function reasonOf({ message, code }: NodeJS.ErrnoException): string {
  return message || String(code);
}
