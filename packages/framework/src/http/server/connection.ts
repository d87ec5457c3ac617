import { STATUS_CODES } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, Response } from 'express';
import { Sum } from '../../bounds/sum.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { lingeringClose, stopParsing } from '../body/unread-body.js';
import { toErrorResponse } from '../errors/to-error-response.js';
import type { ErrorResponse } from '../errors/to-error-response.js';
import type { ServerLimits } from './limits.js';
import { isTarget } from './well-formed.js';

/**
 * Requests that wait for the responses before them (pipelining): on one connection, and bytes on all. `each`: bytes of the
 * objects of a request, besides its header fields and the beginning of its body.
 */
export const MAX_PIPELINED = { requests: 100, bytes: 16 * 1024 * 1024, each: 4 * 1024 } as const;

const pipelined = new Sum();

export interface Port {
  serve(request: Request, response: Response): void;
  /** Records an error that is sent without a response object, and returns further header fields for it. */
  recordError?(errorResponse: ErrorResponse): Readonly<Record<string, string>>;
}

/**
 * A connection and its pending requests, which are handled one after the other (RFC 9112, section 9.3.2).
 *
 * Something that is no request, too late or too much makes the service reject the connection: it parses nothing more, responds
 * to the complete requests, sends the error, and closes.
 */
export class Connection {
  private readonly pending: ServerResponse[] = [];
  /** Bytes of requests that wait for others: a part of {@link pipelined}. */
  private waiting = 0;
  private isRejected = false;
  private unsent = 0;
  /** When the last response finished, or the client last received bytes. */
  movedAt = performance.now();

  constructor(
    private readonly socket: Socket,
    private readonly port: Port,
    private readonly limits: ServerLimits,
  ) {}

  get current(): ServerResponse | undefined {
    return this.pending[0];
  }

  receive(request: Request, response: Response): void {
    if (this.isRejected) return;
    const before = this.pending.at(-1);
    const bytes = before === undefined ? 0 : bytesOf(request);
    const { requests, bytes: maxBytes } = MAX_PIPELINED;
    if (this.pending.length >= requests || pipelined.value + bytes > maxBytes) {
      this.reject(new ServiceException(ERRORS.tooManyUnanswered));
      return;
    }
    this.pending.push(response);
    response.once('close', () => {
      this.pending.splice(this.pending.indexOf(response), 1);
      this.movedAt = performance.now();
    });
    if (before === undefined) {
      this.handle(request, response);
      return;
    }
    pipelined.add(bytes);
    this.waiting += bytes;
    before.once('close', () => {
      this.forget(Math.min(bytes, this.waiting));
      this.handle(request, response);
    });
  }

  close(): void {
    this.forget(this.waiting);
  }

  private forget(waiting: number): void {
    pipelined.subtract(waiting);
    this.waiting -= waiting;
  }

  private handle(request: Request, response: Response): void {
    // The previous response closed the connection (RFC 9112, section 9.6).
    if (!this.socket.writable) return;
    // The connection was rejected in the middle of this request, while the request waited.
    if (this.isRejected && !request.complete) return;
    // Express finds no path in such a target, and would respond by itself.
    if (isTarget(request)) this.port.serve(request, response);
    else this.end(new ServiceException(ERRORS.badRequest, 'the request target is not a URL'));
  }

  reject(error: ServiceException): void {
    // Later bytes may fail to parse as well.
    if (this.isRejected || this.socket.destroyed) return;
    this.isRejected = true;
    // Node removes its own listener before it hands over the socket of a CONNECT.
    this.socket.on('error', () => {});
    stopParsing(this.socket);
    const current = this.current as Response | undefined;
    const last = this.pending.findLast(({ req }) => req.complete) as Response | undefined;
    if (current === undefined) this.end(error);
    else if (last !== undefined) last.once('close', () => this.end(error, last.req));
    else if (current.req.readableFlowing === true) this.fail(error);
    // Handlers that do not read the body respond by themselves.
    else current.req.once('resume', () => this.fail(error));
  }

  /** Fails the current request, while its body is read or before its response has started. */
  fail(error: ServiceException): void {
    const response = this.current as Response | undefined;
    if (response?.req.bodyChunks !== undefined) response.req.bodyChunks.destroy(error);
    // Express passes the error to the filter.
    else if (response?.headersSent === false) response.req.next?.(error);
  }

  /**
   * Closes the connection of a client that does not read responses, or that sends bytes without completing a request: Node
   * restarts its own timers with every byte, even with blank lines between requests. A request that starts at the end of the
   * idle time still gets the time of header fields.
   */
  closeIfStalled(): void {
    const { keepAlive, headers, socketIdle } = this.limits;
    const now = performance.now();
    const unsent = unsentBytes(this.socket);
    if (unsent !== this.unsent) this.movedAt = now;
    this.unsent = unsent;
    const isIdle = this.current === undefined && this.socket.writable;
    const timeout = isIdle ? keepAlive + headers : socketIdle;
    if ((isIdle || unsent > 0) && now - this.movedAt > timeout) cutOff(this.socket);
  }

  /** @param previous the last complete request */
  private end(error: ServiceException, previous?: Request): void {
    if (this.socket.writable) {
      const errorResponse = toErrorResponse(error);
      this.socket.end(rawResponse(errorResponse, this.port.recordError?.(errorResponse)));
    }
    const isAuthenticated = previous?.principal !== undefined;
    lingeringClose(this.socket, isAuthenticated ? this.limits.rejectedBody : undefined);
  }
}

function rawResponse(
  { status, headers, body }: ErrorResponse,
  others: Readonly<Record<string, string>> = {},
): string {
  const content = JSON.stringify(body);
  const fields = {
    ...others,
    ...headers,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(content),
    Date: new Date().toUTCString(),
    Connection: 'close',
  };
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
    '',
    content,
  ].join('\r\n');
}

function bytesOf(request: Request): number {
  const { url, rawHeaders } = request;
  const begin = MAX_PIPELINED.each + url.length + bufferedBody(request);
  return rawHeaders.reduce((sum, text) => sum + text.length, begin);
}

/** Bytes of the body that the stream of a request takes before anybody reads it. */
function bufferedBody({ headers, readableHighWaterMark }: Request): number {
  if (headers['transfer-encoding'] !== undefined) return readableHighWaterMark;
  return Math.min(Number(headers['content-length'] ?? 0), readableHighWaterMark);
}

/** Destroys with an error, so that a truncated response does not count as sent (is-sent.ts). */
export function cutOff(socket: Socket): void {
  socket.destroy(new Error('the connection timed out'));
}

/** Bytes that were written and that the client has not received. */
export function unsentBytes(socket: Socket): number {
  // `writableLength` counts a long write until all of it has left. Node's own `_onTimeout` reads the handle as well.
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize: number } };
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}
