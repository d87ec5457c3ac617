import { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Express, Request, Response } from 'express';
import { MethodNotAllowedError } from '../errors/method-not-allowed.error.js';
import type { Observability } from '../../observability/observability.module.js';
import { clientFailure } from './client-error.js';
import { closeStalled, cutOff } from './close-stalled.js';
import { Connection } from './connection.js';
import { drain } from './drain.js';
import { expressClasses } from './express-classes.js';
import type { ServerLimits } from './limits.js';

/** How often connections are checked against their timeouts, in milliseconds. */
const CHECK_INTERVAL = 1_000;

/**
 * Node's HTTP server in front of Express. Every wait has a timeout, and every failure an Error body, also where Node
 * would answer by itself or not at all.
 */
export class HttpServer extends Server {
  /** Entries last as long as their connections: V8 frees a Map's old tables late if entries come with each request. */
  private readonly openConnections = new Map<Socket, Connection>();

  constructor(app: Express, limits: ServerLimits, observability: Observability) {
    super({
      ...expressClasses(app, limits),
      // A request handler refuses a missing Host, with an Error body.
      requireHostHeader: false,
      headersTimeout: limits.headers,
      // A slow client is not an error: the body reader limits pauses and the total time (json-body.ts).
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAlive,
      // Of TCP, which has nothing to do with the line above.
      keepAlive: true,
      keepAliveInitialDelay: limits.keepAliveProbe,
      connectionsCheckingInterval: CHECK_INTERVAL,
    });
    this.timeout = limits.socketIdle;
    this.maxConnections = limits.connections;
    // Node silently drops the header fields above this number. Their total size is limited anyway.
    this.maxHeadersCount = 0;
    // A client that has half-closed its connection may still wait for answers. The types lack the property.
    Object.assign(this, { httpAllowHalfOpen: true });

    const serve = (request: Request, response: Response) => {
      if (!this.listening) response.setHeader('Connection', 'close');
      observability.tracer.request(request, response, () => app(request, response));
    };
    this.on('connection', (socket: Socket) => {
      this.openConnections.set(socket, new Connection(socket, serve, limits, observability));
      socket.once('close', () => this.openConnections.delete(socket));
    });
    const receive = (request: Request, response: Response) =>
      this.openConnections.get(request.socket)?.receive(request, response);
    // The body reader sends 100 Continue, so a request that is refused before never gets it.
    for (const event of ['request', 'checkContinue', 'checkExpectation']) this.on(event, receive);
    this.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
      this.openConnections.get(socket)?.refuse(clientFailure(error)),
    );
    this.on('connect', (_request, socket: Socket) =>
      this.openConnections.get(socket)?.refuse(new MethodNotAllowedError([])),
    );
    this.on('timeout', cutOff);
    const checks = setInterval(
      () => closeStalled(this.openConnections, limits),
      CHECK_INTERVAL,
    ).unref();
    this.once('close', () => clearInterval(checks));
  }

  /** Closes the server gracefully ({@link drain}). */
  drain(timeout: number): Promise<void> {
    return drain(this, this.openConnections, timeout);
  }
}
