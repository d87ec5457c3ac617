import { once } from 'node:events';
import { Server } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import type { Express, Request, Response } from 'express';
import { MethodNotAllowedError } from '../errors/method-not-allowed.error.js';
import { ERRORS } from '../../errors/common-errors.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';
import { toAnswer } from '../errors/to-answer.js';
import type { Observability } from '../../observability/observability.module.js';
import { answerFailure, breakOff } from '../errors/answer-failure.js';
import { clientFailure } from './client-error.js';
import { expressClasses } from './express-classes.js';
import type { HttpLimits } from './limits.js';
import { rawAnswer } from './raw-answer.js';
import { newRequestId, REQUEST_ID_HEADER } from './request-id.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { lingeringClose, stopParsing } from '../body/unread-body.js';
import { isTarget } from './well-formed.js';

/** How often connections are checked against their timeouts, in milliseconds. */
const CHECK_INTERVAL = 1_000;

/** Most unanswered requests on one connection (pipelining). */
const MAX_PIPELINED = 100;

/** Time for requests that clients have already sent, and for the last answers to leave, in milliseconds. */
export const LAST_CALL = 1_000;

/** How often a draining server looks whether requests are still running, in milliseconds. */
const DRAIN_POLL = 20;

/** The longest turn of an idle event loop, and how long to wait for such a turn, in milliseconds. */
const QUIET = { turn: 0.05, within: 100 } as const;

interface Connection {
  /** The responses that are not finished, in the order of their requests. */
  readonly open: ServerResponse[];
  isRefused: boolean;
  /** Bytes that the client had not received at the last check. */
  unsent: number;
  /** When the last response finished, or the client last received bytes. */
  movedAt: number;
}

/**
 * Node's HTTP server in front of Express. Every wait has a timeout, and every failure an Error body, also where Node
 * would answer by itself or not at all.
 */
export class HttpServer extends Server {
  /** Entries last as long as their connections: V8 frees a Map's old tables late if entries come with each request. */
  private readonly states = new Map<Socket, Connection>();
  private isDraining = false;

  constructor(
    private readonly app: Express,
    private readonly limits: HttpLimits,
    private readonly observability: Observability,
  ) {
    super({
      ...expressClasses(app, limits),
      // A request handler refuses a missing Host, with an Error body.
      requireHostHeader: false,
      headersTimeout: limits.headers,
      // A slow client is not an error: the body reader limits pauses and the total time (json-body.ts).
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAlive,
      connectionsCheckingInterval: CHECK_INTERVAL,
    });
    this.timeout = limits.socketIdle;
    this.maxConnections = limits.connections;
    // Node silently drops the header fields above this number. Their total size is limited anyway.
    this.maxHeadersCount = 0;
    // A client that has half-closed its connection may still wait for answers. The types lack the property.
    Object.assign(this, { httpAllowHalfOpen: true });
    // The body reader sends 100 Continue, so a request that is refused before never gets it.
    const receive = (request: IncomingMessage, response: ServerResponse) =>
      this.receive(request, response);
    this.on('request', receive).on('checkContinue', receive).on('checkExpectation', receive);
    this.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
      this.refuse(socket, clientFailure(error)),
    );
    this.on('connect', (_request, socket: Socket) =>
      this.refuse(socket, new MethodNotAllowedError([])),
    );
    this.on('timeout', cutOff).on('connection', (socket: Socket) => this.add(socket));
    const checks = setInterval(() => this.closeTimedOut(), CHECK_INTERVAL).unref();
    this.once('close', () => clearInterval(checks));
  }

  /**
   * Closes the server gracefully: new connections are refused, and each connection closes after its current answer.
   * Idle connections close a second later, because a proxy may just have sent a request on one, and must not repeat
   * it by itself (RFC 9110, section 9.2.2). Requests that still run after `timeout` milliseconds are answered 503.
   */
  async drain(timeout: number): Promise<void> {
    // Connections that the kernel has established, but this process has not accepted yet, would be reset.
    await quietMoment();
    this.isDraining = true;
    const closed = once(this, 'close');
    // HTTP's own `close` closes idle connections at once.
    NetServer.prototype.close.call(this);
    for (const response of this.currentResponses()) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
    }
    await Promise.race([closed, after(LAST_CALL)]);
    // A connection counts as idle until its next request has been read.
    await quietMoment();
    this.closeIdleConnections();
    if (this.currentResponses().length > 0) {
      const deadline = performance.now() + timeout;
      while (this.currentResponses().length > 0 && performance.now() < deadline) {
        await sleep(DRAIN_POLL);
      }
      for (const response of this.currentResponses()) {
        this.fail(response, new PlantStoreError(ERRORS.shuttingDown));
      }
      await Promise.race([closed, after(LAST_CALL)]);
    }
    for (const response of this.currentResponses()) {
      if (!response.writableEnded) breakOff(response as Response);
    }
    // Not `closeAllConnections()`, which misses sockets that Node detached from the server after a CONNECT.
    for (const socket of this.states.keys()) socket.destroy();
    await closed;
  }

  private currentResponses(): ServerResponse[] {
    return [...this.states.values()].flatMap(({ open }) => open.slice(0, 1));
  }

  private add(socket: Socket): void {
    const movedAt = performance.now();
    this.states.set(socket, { open: [], isRefused: false, unsent: 0, movedAt });
    socket.once('close', () => this.states.delete(socket));
  }

  /**
   * Closes the connections of clients that do not read their answers, or that send bytes without completing a
   * request. Node restarts its own timers with every byte, even with blank lines between requests. A request whose
   * header fields begin to arrive at the end of the idle time still gets the time of header fields.
   */
  private closeTimedOut(): void {
    const now = performance.now();
    for (const [socket, connection] of this.states) {
      const unsent = unsentBytes(socket);
      if (unsent !== connection.unsent) Object.assign(connection, { unsent, movedAt: now });
      const isIdle = connection.open.length === 0 && socket.writable;
      const { keepAlive, headers, socketIdle } = this.limits;
      const timeout = isIdle ? keepAlive + headers : socketIdle;
      if ((isIdle || unsent > 0) && now - connection.movedAt > timeout) cutOff(socket);
    }
  }

  /** Handles pipelined requests one after the other (RFC 9112, section 9.3.2). */
  private receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = this.states.get(socket);
    if (connection === undefined || connection.isRefused) return;
    const { open } = connection;
    if (open.length >= MAX_PIPELINED) {
      this.refuse(socket, new PlantStoreError(ERRORS.tooManyUnanswered));
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

  /** Answers what Node could not parse as a request, or an incomplete request. */
  private refuse(socket: Socket, failure: PlantStoreError): void {
    const connection = this.states.get(socket);
    // After a refusal, later bytes may fail to parse as well.
    if (connection === undefined || connection.isRefused || socket.destroyed) return;
    connection.isRefused = true;
    // Node removes its own listener before it hands over the socket of a CONNECT.
    socket.on('error', () => {});

    const [current] = connection.open;
    const { failBody } = (current?.req ?? {}) as Partial<Request>;
    if (failBody !== undefined && current?.req.complete === false) {
      stopParsing(socket);
      failBody(failure);
      return;
    }
    // A response that started before the end of its request is the last one on its connection.
    if (current?.headersSent === true && !current.req.complete) return;
    stopParsing(socket);
    const lastComplete = connection.open.findLast(({ req }) => req.complete);
    if (current === undefined) {
      this.answer(socket, failure);
    } else if (lastComplete !== undefined) {
      // Complete requests are answered first.
      lastComplete.once('close', () => this.answer(socket, failure, lastComplete.req));
    } else {
      this.failBody(current, failure);
    }
  }

  private handle(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    // The previous answer closed the connection (RFC 9112, section 9.6).
    if (!socket.writable) return;
    // The connection failed in the middle of this request, while the request waited for its turn.
    if (this.states.get(socket)?.isRefused === true && !request.complete) return;
    // Express finds no path in such a target, and would answer by itself.
    if (!isTarget(request)) {
      this.answer(
        socket,
        new PlantStoreError(ERRORS.badRequest, 'the request target is not a URL'),
      );
      return;
    }
    if (this.isDraining) response.setHeader('Connection', 'close');
    const routed = [request as Request, response as Response] as const;
    this.observability.tracer.request(...routed, () => this.app(...routed));
  }

  /** Answers a request with an incomplete body when a handler reads the body. Other handlers answer by themselves. */
  private failBody(response: ServerResponse, failure: PlantStoreError): void {
    const { req: request, socket } = response;
    if (request.readableFlowing === true) this.fail(response, failure);
    else request.once('resume', () => this.fail(response, failure));
    // Ends the reader of the body together with the connection.
    socket?.once('close', () => request.destroy(new Error('aborted')));
  }

  private fail(response: ServerResponse, failure: PlantStoreError): void {
    const { failBody } = response.req as Request;
    if (failBody !== undefined) return failBody(failure);
    if (response.headersSent || !response.req.socket.writable) return;
    answerFailure(response as Response, toAnswer(failure), this.observability.metrics);
  }

  private answer(socket: Socket, failure: PlantStoreError, previous?: IncomingMessage): void {
    if (socket.writable) {
      const requestId = newRequestId();
      const { status, headers, body } = toAnswer(failure);
      const { logger, metrics } = this.observability;
      logger.info({ requestId, status, error: body.error }, 'refused');
      metrics.recordRefusal(body.error);
      const all = { ...SECURITY_HEADERS, [REQUEST_ID_HEADER]: requestId, ...headers };
      socket.end(rawAnswer({ status, headers: all, body }));
    }
    const isAuthenticated = (previous as Request | undefined)?.isAuthenticated === true;
    lingeringClose(socket, isAuthenticated ? this.limits.refusedBody : undefined);
  }
}

/** Destroys with an error, so that a truncated answer does not count as sent (is-answered.ts). */
function cutOff(socket: Socket): void {
  socket.destroy(new Error('the connection timed out'));
}

/** Bytes that were written and that the client has not received yet. */
function unsentBytes(socket: Socket): number {
  // `writableLength` counts a long write until all of it has left. Node's own `_onTimeout` reads the handle as well.
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize: number } };
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}

/** Waits for a bounded time until the event loop has read all that has arrived. */
async function quietMoment(): Promise<void> {
  const deadline = performance.now() + QUIET.within;
  let turn = performance.now();
  for (;;) {
    // Called after the poll phase, which reads from sockets.
    await immediate();
    const now = performance.now();
    if (now - turn < QUIET.turn || now > deadline) return;
    turn = now;
  }
}

function after(milliseconds: number): Promise<void> {
  return sleep(milliseconds, undefined, { ref: false });
}
