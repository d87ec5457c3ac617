import { Server } from 'node:http';
import type { ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, Response } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import type { ErrorKind } from '../../errors/error-kind.js';
import { ServiceException } from '../../errors/service.exception.js';
import { methodNotAllowed } from './allowed-methods.js';
import { Connection, cutOff } from './connection.js';
import type { Port } from './connection.js';
import { drain } from './drain.js';
import type { ServerLimits } from './limits.js';

const CHECK_INTERVAL = 1_000;

/** Node's error codes (Node.js documentation, http, event `clientError`). */
const CLIENT_ERRORS: Partial<Record<string, ErrorKind>> = {
  HPE_HEADER_OVERFLOW: ERRORS.headersTooLarge,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ERRORS.bodyTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: ERRORS.requestTimeout,
};

/**
 * Node's HTTP server, where every wait has a timeout, and every error an Error body, also where Node would respond by itself or
 * not at all.
 */
export class HttpServer extends Server {
  /** By connection, because V8 frees a Map's old tables late if entries come with each request. */
  readonly openConnections = new Map<Socket, Connection>();

  constructor(
    limits: ServerLimits,
    port: Port,
    classes: Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> = {},
  ) {
    super({
      ...classes,
      // `wellFormed` rejects a missing Host, with an Error body.
      requireHostHeader: false,
      headersTimeout: limits.headers,
      // The body reader limits pauses and the total time (json-body.ts).
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAlive,
      // Of TCP, unlike the line above.
      keepAlive: true,
      keepAliveInitialDelay: limits.keepAliveProbe,
      connectionsCheckingInterval: CHECK_INTERVAL,
    });
    this.timeout = limits.socketIdle;
    this.maxConnections = limits.connections;
    // Node silently drops the header fields above this number. Their total size is limited anyway.
    this.maxHeadersCount = 0;
    // A client that has half-closed its connection may still read responses. The types lack the property.
    Object.assign(this, { httpAllowHalfOpen: true });

    const untilDrained: Port = {
      ...port,
      serve: (request, response) => {
        if (!this.listening) response.setHeader('Connection', 'close');
        port.serve(request, response);
      },
    };
    this.on('connection', (socket: Socket) => {
      const connection = new Connection(socket, untilDrained, limits);
      this.openConnections.set(socket, connection);
      socket.once('close', () => {
        this.openConnections.delete(socket);
        connection.close();
      });
    });
    const reject = (socket: Socket, error: ServiceException) =>
      this.openConnections.get(socket)?.reject(error);
    const receive = (request: Request, response: Response) =>
      this.openConnections.get(request.socket)?.receive(request, response);
    // The body reader sends 100 Continue, so a request that is rejected before never gets it.
    for (const event of ['request', 'checkContinue', 'checkExpectation']) this.on(event, receive);
    this.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) =>
      reject(socket, new ServiceException(CLIENT_ERRORS[code] ?? ERRORS.badRequest)),
    );
    this.on('connect', (_request, socket: Socket) => reject(socket, methodNotAllowed([])));
    this.on('timeout', cutOff);
    const checks = setInterval(() => {
      for (const connection of this.openConnections.values()) connection.closeIfStalled();
    }, CHECK_INTERVAL).unref();
    this.once('close', () => clearInterval(checks));
  }

  drain(timeout: number): Promise<void> {
    return drain(this, this.openConnections, timeout);
  }
}
