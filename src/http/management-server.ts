import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { MethodNotAllowedError } from '../errors/method-not-allowed.error.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { toAnswer } from '../errors/to-answer.js';
import { LOGGER } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { Readiness } from '../observability/readiness.js';
import { clientFailure } from './client-error.js';
import { rawAnswer } from './raw-answer.js';
import { sendJson } from './send-json.js';
import { declaresBody } from './unread-body.js';
import { wellFormed } from './well-formed.js';

/** Connections open at the same time. */
const MAX_CONNECTIONS = 100;

/** Of the management port, in milliseconds. */
const LIMITS = {
  /** All of a request, and all of its header fields. */
  request: 10_000,
  /** A connection on which nothing moves. */
  idle: 10_000,
  /** How often late requests are looked for. */
  check: 1_000,
  /** What still arrives after an answer that is the last one on its connection. */
  close: 1_000,
} as const;

/** Health and metrics, on a port of their own that is never published. */
@Injectable()
export class ManagementServer {
  readonly server: Server = createServer({
    requestTimeout: LIMITS.request,
    headersTimeout: LIMITS.request,
    connectionsCheckingInterval: LIMITS.check,
    // A missing Host is refused with an Error body.
    requireHostHeader: false,
  });

  /** The last response on each connection. The connection that has waited longest for a request is first. */
  private readonly connections = new Map<Socket, ServerResponse | undefined>();

  constructor(
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const answer = (request: IncomingMessage, response: ServerResponse) =>
      void this.answer(request, response);
    this.server
      .setTimeout(LIMITS.idle)
      .on('connection', (socket: Socket) => this.add(socket))
      .on('request', answer)
      .on('checkExpectation', answer)
      .on('connect', (_request, socket: Socket) =>
        this.refuse(socket, new MethodNotAllowedError(['GET', 'HEAD'])),
      )
      .on('clientError', (error, socket: Socket) => this.refuse(socket, clientFailure(error)));
  }

  /** Accepts every connection, at the cost of the one idle longest, so that idle clients keep no probe out. */
  private add(socket: Socket): void {
    const [first] = this.connections.keys();
    if (first !== undefined && this.connections.size >= MAX_CONNECTIONS) {
      this.connections.delete(first);
      first.destroy();
    }
    this.connections.set(socket, undefined);
    socket.once('close', () => this.connections.delete(socket));
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.connections.delete(request.socket);
    this.connections.set(request.socket, response);
    // No body is read.
    if (declaresBody(request)) response.setHeader('Connection', 'close');
    try {
      wellFormed(request);
      await this.route(request, response);
    } catch (error) {
      const { status, headers, body } = toAnswer(error);
      if (status >= 500) this.logger.error({ error: body.error, err: error }, body.message);
      response.setHeaders(new Headers(headers));
      sendJson(response, status, body);
    }
  }

  /** Answers what Node could not parse as a request, or a request that broke off. */
  private refuse(socket: Socket, failure: PlantStoreError): void {
    // Nothing more is read. Node takes its own listener away before it hands over the socket of a CONNECT.
    socket.on('error', () => {}).pause();
    const answer = () => {
      if (!socket.writable) return;
      socket.end(rawAnswer(toAnswer(failure)));
      // Closed in two steps, because a reset could cost the client the answer (RFC 9112, section 9.6).
      setTimeout(() => socket.destroy(), LIMITS.close).unref();
    };
    const last = this.connections.get(socket);
    if (last === undefined || last.closed) answer();
    else last.once('close', answer);
  }

  private async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = String(request.url).split('?', 1);
    if (!['/health/live', '/health/ready', '/metrics'].includes(path)) {
      throw new PlantStoreError('no-such-path');
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new MethodNotAllowedError(['GET', 'HEAD']);
    }
    if (path === '/metrics') {
      const text = await this.metrics.text();
      response.setHeader('Content-Type', this.metrics.contentType);
      response.end(text);
      return;
    }
    const reason = path === '/health/ready' ? this.readiness.reason : undefined;
    if (reason === undefined) sendJson(response, 200, { status: 'ok' });
    else sendJson(response, 503, { status: 'unavailable', reason });
  }
}
