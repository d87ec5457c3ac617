import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Express, Request, Response } from 'express';
import type { ErrorCode } from '../errors/error-table.js';
import { MethodNotAllowedError } from '../errors/method-not-allowed.error.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { toAnswer } from '../errors/to-answer.js';
import type { Observability } from '../observability/observability.module.js';
import { expressClasses } from './express-classes.js';
import type { HttpLimits } from './limits.js';
import { rawAnswer } from './raw-answer.js';
import { newRequestId } from './request-id.js';
import { DRAIN } from './unread-body.js';
import { isTarget } from './well-formed.js';

/** How often Node looks for connections whose header fields are late, in milliseconds. */
const CHECK_INTERVAL = 1_000;

/** How many requests may be sent on one connection before the first of them is answered. */
const MAX_PIPELINED = 100;

/** What Node's error codes mean to the caller (Node.js documentation, http, event `clientError`). */
const CLIENT_ERRORS: Partial<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/**
 * Node's HTTP server in front of Express, with bounded waits, and with an Error body where Node would
 * answer by itself, or not at all.
 */
export function createHttpServer(
  app: Express,
  limits: HttpLimits,
  observability: Observability,
): Server {
  const connections = new Connections(app, observability);
  const receive = (request: IncomingMessage, response: ServerResponse) =>
    connections.receive(request, response);
  const server = createServer(
    {
      ...expressClasses(app),
      // A missing Host is refused by a handler, with an Error body.
      requireHostHeader: false,
      headersTimeout: limits.headers,
      // Bodies are bounded by their pauses, not as a whole: a slow line is no fault.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAlive,
      connectionsCheckingInterval: CHECK_INTERVAL,
    },
    receive,
  );
  server.timeout = limits.socketIdle;
  server.maxConnections = limits.connections;
  // Fields beyond a number would be dropped in silence; their size is bounded anyway.
  server.maxHeadersCount = 0;
  // A client that will send no more may still wait for answers. The types do not know the property.
  Object.assign(server, { httpAllowHalfOpen: true });
  // Whoever reads the body answers 100-continue, so that nobody is asked for a body in vain.
  server.on('checkContinue', receive).on('checkExpectation', receive);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    connections.refuse(
      socket,
      new PlantStoreError(CLIENT_ERRORS[error.code ?? ''] ?? 'bad-request'),
    ),
  );
  server.on('connect', (_request, socket: Socket) =>
    connections.refuse(socket, new MethodNotAllowedError([])),
  );
  return server;
}

class Connections {
  /** The responses that are not finished, in the order of their requests. */
  private readonly openResponses = new WeakMap<Socket, ServerResponse[]>();
  /** How many bytes had arrived when a connection was refused. */
  private readonly refused = new WeakMap<Socket, number>();

  constructor(
    private readonly app: Express,
    private readonly observability: Observability,
  ) {}

  /** Hands a request on, after those before it on the same connection (RFC 9112, section 9.3.2). */
  receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const open = this.openResponses.get(socket) ?? [];
    if (open.length >= MAX_PIPELINED || this.refused.has(socket)) {
      this.refuse(socket, new PlantStoreError('overloaded', 'too many requests without an answer'));
      return;
    }
    const before = open.at(-1);
    this.openResponses.set(socket, open);
    open.push(response);
    response.once('close', () => open.splice(open.indexOf(response), 1));
    if (before === undefined) this.handle(request, response);
    else before.once('close', () => this.handle(request, response));
  }

  /** Answers what never became a request, or what broke in the middle of one. */
  refuse(socket: Socket, failure: PlantStoreError): void {
    // Whatever else arrives on a refused connection leads here again.
    const bytesBefore = this.refused.get(socket);
    if (bytesBefore !== undefined) {
      if (socket.bytesRead - bytesBefore > DRAIN.bytes) socket.destroy();
      return;
    }
    this.refused.set(socket, socket.bytesRead);
    // Node takes its own listener away before it hands over the socket of a CONNECT.
    socket.on('error', () => {});

    const open = this.openResponses.get(socket) ?? [];
    const ahead = open.findLast(({ req, headersSent }) => req.complete || headersSent);
    if (ahead === undefined) this.answer(socket, failure);
    // Rubbish behind a whole request waits for the answer to that request. An answer that came before
    // the end of its request is the last one on its connection.
    else if (ahead.req.complete) ahead.once('close', () => this.answer(socket, failure));
  }

  private handle(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    // The answer before was the last one on the connection (RFC 9112, section 9.6).
    if (!socket.writable) return;
    // It broke off in the middle, while it waited for its turn.
    if (this.refused.has(socket) && !request.complete) return;
    // Express finds no path in such a target, and would answer by itself.
    if (!isTarget(request)) {
      this.answer(socket, new PlantStoreError('bad-request', 'the request target is no URL'));
      return;
    }
    const routed = [request as Request, response as Response] as const;
    this.observability.tracer.request(...routed, () => this.app(...routed));
  }

  private answer(socket: Socket, failure: PlantStoreError): void {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const requestId = newRequestId();
    const answer = toAnswer(failure);
    const { logger, metrics } = this.observability;
    logger.info({ requestId, status: answer.status, error: answer.body.error }, 'refused');
    metrics.recordRefusal(answer.body.error);
    // Closed in two steps, because a reset could cost the client the answer (RFC 9112, section 9.6).
    socket.end(rawAnswer(answer, requestId));
    setTimeout(() => socket.destroy(), DRAIN.milliseconds).unref();
  }
}
