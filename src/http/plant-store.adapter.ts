import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import type { Express, Request, Response } from 'express';
import type { Logger } from 'pino';
import { MethodNotAllowedError } from '../errors/method-not-allowed.error.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { toAnswer } from '../errors/to-answer.js';
import type { HttpLimits } from './limits.js';
import { rawAnswer } from './raw-answer.js';
import { isTarget } from './well-formed.js';
import { newRequestId } from './request-id.js';
import { sendJson } from './send-json.js';
import { closeAfterUnreadBody } from './unread-body.js';

/** How often Node looks for connections whose header fields are late. */
const CHECK_INTERVAL = 1_000;

/** How long a refused connection is kept for its answer to arrive. */
const LINGER = 1_000;

/** Express under Nest, with exact JSON and with an Error body where Node would answer by itself. */
export class PlantStoreAdapter extends ExpressAdapter {
  /** The responses that are not finished, in the order of their requests. */
  private readonly openResponses = new WeakMap<Duplex, ServerResponse[]>();
  private readonly refused = new WeakSet<Duplex>();

  constructor(
    private readonly limits: HttpLimits,
    private readonly log: Logger,
  ) {
    // Routing reads these settings once, when the adapter takes the application over.
    super(
      express()
        .enable('strict routing')
        .enable('case sensitive routing')
        .disable('x-powered-by')
        .disable('etag')
        .set('query parser', 'simple'),
    );
  }

  override initHttpServer(): void {
    const server = createServer(
      {
        // A missing Host is refused by a handler, with an Error body.
        requireHostHeader: false,
        headersTimeout: this.limits.headers,
        // Bodies are bounded by their pauses, not as a whole: a slow line is no fault.
        requestTimeout: 0,
        keepAliveTimeout: this.limits.keepAlive,
        connectionsCheckingInterval: CHECK_INTERVAL,
      },
      (request, response) => this.receive(request, response),
    );
    // Fields beyond a number would be dropped in silence; their size is bounded anyway.
    server.maxHeadersCount = 0;
    // A client that will send no more may still wait for answers.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.timeout = this.limits.socketIdle;
    // Whoever reads the body answers 100-continue, so that nobody is asked for a body in vain.
    const handle = (request: IncomingMessage, response: ServerResponse) =>
      server.emit('request', request, response);
    server.on('checkContinue', handle).on('checkExpectation', handle);
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      this.refuse(socket, new PlantStoreError(CLIENT_ERRORS[error.code ?? ''] ?? 'bad-request'));
    });
    server.on('connect', (_request, socket) => this.refuse(socket, new MethodNotAllowedError([])));
    this.httpServer = server;
  }

  /** Hands a request on, after those before it on the same connection (RFC 9112, section 9.3.2). */
  private receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const open = this.openResponses.get(socket) ?? [];
    const before = open.at(-1);
    this.openResponses.set(socket, open);
    open.push(response);
    response.once('close', () => open.splice(open.indexOf(response), 1));
    closeAfterUnreadBody(request, response);
    const handle = () => {
      // It broke off in the middle, while it waited for its turn.
      if (this.refused.has(socket) && !request.complete) return;
      // Express finds no path in such a target, and would answer by itself.
      if (isTarget(request)) this.getInstance<Express>()(request as Request, response as Response);
      else
        this.refuseNow(socket, new PlantStoreError('bad-request', 'the request target is no URL'));
    };
    if (before === undefined) handle();
    else before.once('close', handle);
  }

  override reply(response: Response, body: unknown, status?: number): void {
    sendJson(response, status ?? response.statusCode, body);
  }

  /** Answers what never became a request, or what broke in the middle of one. */
  private refuse(socket: Duplex, failure: PlantStoreError): void {
    // Whatever else arrives on a refused connection fails to parse as well.
    if (this.refused.has(socket)) return;
    this.refused.add(socket);
    socket.on('error', () => {});

    const open = this.openResponses.get(socket) ?? [];
    const ahead = open.findLast(({ req, headersSent }) => req.complete || headersSent);
    if (ahead === undefined) this.refuseNow(socket, failure);
    // Rubbish behind a whole request waits for the answer to that request. An answer that came before
    // the end of its request is the last one on its connection.
    else if (ahead.req.complete) ahead.once('close', () => this.refuseNow(socket, failure));
  }

  private refuseNow(socket: Duplex, failure: PlantStoreError): void {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const requestId = newRequestId();
    const answer = toAnswer(failure);
    this.log.info({ requestId, status: answer.status, error: answer.body.error }, 'refused');
    // Closed in two steps, because a reset could cost the client the answer (RFC 9112, section 9.6).
    socket.end(rawAnswer(answer, requestId));
    socket.pause();
    setTimeout(() => socket.destroy(), LINGER).unref();
  }
}

/** What Node's error codes mean to the caller (Node.js documentation, http, event `clientError`). */
const CLIENT_ERRORS: Partial<Record<string, PlantStoreError['code']>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};
