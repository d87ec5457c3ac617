import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Express, Request, Response } from 'express';
import { MethodNotAllowedError } from '../errors/method-not-allowed.error.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { toAnswer } from '../errors/to-answer.js';
import type { Observability } from '../observability/observability.module.js';
import { answerFailure } from './answer-failure.js';
import { clientFailure } from './client-error.js';
import { expressClasses } from './express-classes.js';
import type { HttpLimits } from './limits.js';
import { rawAnswer } from './raw-answer.js';
import { newRequestId, REQUEST_ID_HEADER } from './request-id.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { drain, hold } from './unread-body.js';
import { isTarget } from './well-formed.js';

/** How often connections are checked against their bounds, in milliseconds. */
const CHECK_INTERVAL = 1_000;

/** How many requests may be sent on one connection before the first of them is answered. */
const MAX_PIPELINED = 100;

/**
 * Node's HTTP server in front of Express, with bounded waits, and with an Error body where Node would
 * answer by itself, or not at all.
 */
export function createHttpServer(
  app: Express,
  limits: HttpLimits,
  observability: Observability,
): Server {
  const connections = new Connections(app, limits, observability);
  const receive = (request: IncomingMessage, response: ServerResponse) =>
    connections.receive(request, response);
  const server = createServer(
    {
      ...expressClasses(app, limits),
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
  // Node would drop fields beyond a number silently. Their size is bounded anyway.
  server.maxHeadersCount = 0;
  // A client that has half-closed its connection may still wait for answers. The types lack the property.
  Object.assign(server, { httpAllowHalfOpen: true });
  // 100 Continue is sent when the body is read (json-body.ts), so not for a request that is refused before.
  server.on('checkContinue', receive).on('checkExpectation', receive);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    connections.refuse(socket, clientFailure(error)),
  );
  server.on('connect', (_request, socket: Socket) =>
    connections.refuse(socket, new MethodNotAllowedError([])),
  );
  server.on('timeout', cutOff).on('connection', (socket: Socket) => connections.add(socket));
  const sweeping = setInterval(() => connections.sweep(), CHECK_INTERVAL).unref();
  server.once('close', () => clearInterval(sweeping));
  return server;
}

interface Connection {
  /** The responses that are not finished, in the order of their requests. */
  readonly open: ServerResponse[];
  isRefused: boolean;
  /** Bytes that the client had not taken when the connection was last looked at. */
  unsent: number;
  /** When the last response was finished, or the client last took something. */
  movedAt: number;
}

class Connections {
  private readonly connections = new Map<Socket, Connection>();

  constructor(
    private readonly app: Express,
    private readonly limits: HttpLimits,
    private readonly observability: Observability,
  ) {}

  add(socket: Socket): void {
    const movedAt = performance.now();
    this.connections.set(socket, { open: [], isRefused: false, unsent: 0, movedAt });
    socket.once('close', () => this.connections.delete(socket));
  }

  /**
   * Ends the connections of clients that do not read their answers, or send nothing that becomes a request.
   * Node's own timers start anew with every byte, even with blank lines between requests. Header fields that begin
   * to arrive at the end of the idle time still get the time of header fields.
   */
  sweep(): void {
    const now = performance.now();
    for (const [socket, connection] of this.connections) {
      const unsent = unsentBytes(socket);
      if (unsent !== connection.unsent) Object.assign(connection, { unsent, movedAt: now });
      const isIdle = connection.open.length === 0 && socket.writable;
      const { keepAlive, headers, socketIdle } = this.limits;
      const bound = isIdle ? keepAlive + headers : socketIdle;
      if ((isIdle || unsent > 0) && now - connection.movedAt > bound) cutOff(socket);
    }
  }

  /** Hands a request on, after those before it on the same connection (RFC 9112, section 9.3.2). */
  receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = this.connections.get(socket);
    if (connection === undefined || connection.isRefused) return;
    const { open } = connection;
    if (open.length >= MAX_PIPELINED) {
      this.refuse(socket, new PlantStoreError('overloaded', 'too many requests without an answer'));
      return;
    }
    const before = open.at(-1);
    open.push(response);
    response.once('close', () => {
      open.splice(open.indexOf(response), 1);
      connection.movedAt = performance.now();
    });
    if (before === undefined) this.handle(request, response);
    else before.once('close', () => this.handle(request, response));
  }

  /** Answers what Node could not parse as a request, or a request that broke off. */
  refuse(socket: Socket, failure: PlantStoreError): void {
    const connection = this.connections.get(socket);
    // What arrives after a refusal may fail as well.
    if (connection === undefined || connection.isRefused || socket.destroyed) return;
    connection.isRefused = true;
    // Node takes its own listener away before it hands over the socket of a CONNECT.
    socket.on('error', () => {});

    const [current] = connection.open;
    // An answer that came before the end of its request is the last one on its connection.
    if (current?.headersSent === true && !current.req.complete) return;
    hold(socket);
    const ahead = connection.open.findLast(({ req }) => req.complete);
    if (current === undefined) this.answer(socket, failure);
    // The refusal of what follows a whole request waits for the answer to that request.
    else if (ahead !== undefined)
      ahead.once('close', () => this.answer(socket, failure, ahead.req));
    else this.fail(current, failure);
  }

  private handle(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    // The previous answer was the last one on the connection (RFC 9112, section 9.6).
    if (!socket.writable) return;
    // The request broke off while it waited for its turn.
    if (this.connections.get(socket)?.isRefused === true && !request.complete) return;
    // Express finds no path in such a target, and would answer by itself.
    if (!isTarget(request)) {
      this.answer(socket, new PlantStoreError('bad-request', 'the request target is no URL'));
      return;
    }
    const routed = [request as Request, response as Response] as const;
    this.observability.tracer.request(...routed, () => this.app(...routed));
  }

  /** Answers a request whose body broke off, once a handler reads the body. Other handlers answer by themselves. */
  private fail(response: ServerResponse, failure: PlantStoreError): void {
    const { req: request, socket } = response;
    const answer = () => {
      if (response.headersSent) return;
      answerFailure(response as Response, toAnswer(failure), this.observability.metrics);
    };
    if (request.readableFlowing === true) answer();
    else request.once('resume', answer);
    // The reader of the body must not wait longer than the connection lasts.
    socket?.once('close', () => request.destroy(new Error('aborted')));
  }

  private answer(socket: Socket, failure: PlantStoreError, ahead?: IncomingMessage): void {
    if (socket.writable) {
      const requestId = newRequestId();
      const { status, headers, body } = toAnswer(failure);
      const { logger, metrics } = this.observability;
      logger.info({ requestId, status, error: body.error }, 'refused');
      metrics.recordRefusal(body.error);
      const all = { ...SECURITY_HEADERS, [REQUEST_ID_HEADER]: requestId, ...headers };
      socket.end(rawAnswer({ status, headers: all, body }));
    }
    drain(socket, (ahead as Request | undefined)?.isAuthenticated && this.limits.refusedBody);
  }
}

/** Destroys with an error, so that an answer that is cut off does not count as sent (is-answered.ts). */
function cutOff(socket: Socket): void {
  socket.destroy(new Error('the connection timed out'));
}

/** Bytes that were written and that the client has not received yet. */
function unsentBytes(socket: Socket): number {
  // A long write counts in the stream until it has ended, so Node's own `_onTimeout` reads this number as well.
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize: number } };
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}
