import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { MethodNotAllowedError } from '../http/errors/method-not-allowed.error.js';
import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { toAnswer } from '../http/errors/to-answer.js';
import { LOGGER } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { Readiness } from '../observability/readiness.js';
import { clientFailure } from '../http/server/client-error.js';
import { rawAnswer } from '../http/server/raw-answer.js';
import { sendJson } from '../http/answers/send-json.js';
import { declaresBody, lingeringClose, stopParsing } from '../http/body/unread-body.js';
import { wellFormed } from '../http/server/well-formed.js';

/** Most open connections. */
const MAX_CONNECTIONS = 100;

/** Timeouts of the management port, in milliseconds. */
const LIMITS = {
  /** For a whole request, and for its header fields. */
  request: 10_000,
  /** For a connection without traffic. */
  idle: 10_000,
  /** Between two checks for late requests. */
  check: 1_000,
} as const;

/** Serves health and metrics on an internal port. */
@Injectable()
export class ManagementServer {
  readonly server: Server = createServer({
    requestTimeout: LIMITS.request,
    headersTimeout: LIMITS.request,
    connectionsCheckingInterval: LIMITS.check,
    // A request handler refuses a missing Host, with an Error body.
    requireHostHeader: false,
  });

  /** The last response of each connection, ordered by last use: the least recently used connection is first. */
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

  /** Accepts every connection, and closes the least recently used above the limit, so that no client can block probes. */
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
    // Bodies are never read.
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

  /** Answers what Node could not parse as a request, or an incomplete request. */
  private refuse(socket: Socket, failure: PlantStoreError): void {
    // Node removes its own listener before it hands over the socket of a CONNECT.
    socket.on('error', () => {});
    stopParsing(socket);
    const answer = () => {
      if (socket.writable) socket.end(rawAnswer(toAnswer(failure)));
      lingeringClose(socket);
    };
    const last = this.connections.get(socket);
    if (last === undefined || last.closed) answer();
    else last.once('close', answer);
  }

  private async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = String(request.url).split('?', 1);
    if (!['/health/live', '/health/ready', '/metrics'].includes(path)) {
      throw new PlantStoreError(ERRORS.noSuchPath);
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new MethodNotAllowedError(['GET', 'HEAD']);
    }
    if (path === '/metrics') {
      const text = await this.metrics.text();
      response.setHeader('Content-Type', this.metrics.registry.contentType);
      response.end(text);
      return;
    }
    const reason = path === '/health/ready' ? this.readiness.reason : undefined;
    if (reason === undefined) sendJson(response, 200, { status: 'ok' });
    else sendJson(response, 503, { status: 'unavailable', reason });
  }
}
