import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, Response } from 'express';
import { Sum } from '../../bounds/sum.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { lingeringClose, stopParsing } from '../body/unread-body.js';
import { toAnswer } from '../errors/to-answer.js';
import type { ErrorAnswer } from '../errors/to-answer.js';
import type { ServerLimits } from './limits.js';
import { rawAnswer } from './raw-answer.js';
import { isTarget } from './well-formed.js';

/**
 * Most requests that wait for the responses before them (pipelining): on one connection, and of all connections together in bytes.
 * `each`: what the objects of a request take besides its header fields.
 */
export const MAX_PIPELINED = { requests: 100, bytes: 16 * 1024 * 1024, each: 4 * 1024 } as const;

const pipelined = new Sum();

/** What a port does with requests, and with what is none. */
export interface Port {
  /** Handles one request. */
  serve(request: Request, response: Response): void;
  /** Notes a failure that is answered without a response object, and returns further header fields of the answer. */
  noteRefusal?(answer: ErrorAnswer): Readonly<Record<string, string>>;
}

/**
 * A connection and its unanswered requests. Only the first of them is handled; the close of its response hands over to
 * the next (RFC 9112, section 9.3.2).
 *
 * A connection is open until something arrives that is not a request, or that is too late or too much. Then it is
 * refused: nothing more is parsed, the complete requests are answered, the client is told why, and the connection closes.
 */
export class Connection {
  /** In the order of their requests. */
  private readonly unanswered: ServerResponse[] = [];
  /** Bytes of those that wait for others: a part of {@link pipelined}, which has checked each size. */
  private waiting = 0;
  private isRefused = false;
  private unsent = 0;
  /** When the last response finished, or the client was last seen to receive bytes. */
  movedAt = performance.now();

  constructor(
    private readonly socket: Socket,
    private readonly port: Port,
    private readonly limits: ServerLimits,
  ) {}

  /** The response of the request that is being handled. */
  get current(): ServerResponse | undefined {
    return this.unanswered[0];
  }

  receive(request: Request, response: Response): void {
    if (this.isRefused) return;
    const before = this.unanswered.at(-1);
    if (before === undefined) {
      this.add(response);
      this.handle(request, response);
    } else {
      this.receiveAfter(before, request, response);
    }
  }

  private receiveAfter(before: ServerResponse, request: Request, response: Response): void {
    const bytes = bytesOf(request);
    const { requests, bytes: maxBytes } = MAX_PIPELINED;
    if (this.unanswered.length >= requests || pipelined.value + bytes > maxBytes) {
      this.refuse(new ServiceException(ERRORS.tooManyUnanswered));
      return;
    }
    this.add(response);
    pipelined.add(bytes);
    this.waiting += bytes;
    before.once('close', () => {
      this.forget(Math.min(bytes, this.waiting));
      this.handle(request, response);
    });
  }

  private add(response: Response): void {
    this.unanswered.push(response);
    response.once('close', () => {
      this.unanswered.splice(this.unanswered.indexOf(response), 1);
      this.movedAt = performance.now();
    });
  }

  /** The connection has closed. */
  close(): void {
    this.forget(this.waiting);
  }

  private forget(waiting: number): void {
    pipelined.subtract(waiting);
    this.waiting -= waiting;
  }

  private handle(request: Request, response: Response): void {
    // The previous answer closed the connection (RFC 9112, section 9.6).
    if (!this.socket.writable) return;
    // The connection was refused in the middle of this request, while the request waited for its turn.
    if (this.isRefused && !request.complete) return;
    // Express finds no path in such a target, and would answer by itself.
    if (isTarget(request)) this.port.serve(request, response);
    else this.end(new ServiceException(ERRORS.badRequest, 'the request target is not a URL'));
  }

  /** Reads no more requests, and tells the client the failure when its turn comes. */
  refuse(failure: ServiceException): void {
    // After a refusal, later bytes may fail to parse as well.
    if (this.isRefused || this.socket.destroyed) return;
    this.isRefused = true;
    // Node removes its own listener before it hands over the socket of a CONNECT.
    this.socket.on('error', () => {});
    stopParsing(this.socket);
    const current = this.current as Response | undefined;
    const last = this.unanswered.findLast(({ req }) => req.complete) as Response | undefined;
    if (current === undefined) this.end(failure);
    else if (last !== undefined) last.once('close', () => this.end(failure, last.req));
    else if (current.req.readableFlowing === true) this.fail(failure);
    // Handlers that do not read the body answer by themselves.
    else current.req.once('resume', () => this.fail(failure));
  }

  /** Answers the current request with a failure: the reader of its body does, or it is not answered yet. */
  fail(failure: ServiceException): void {
    const response = this.current as Response | undefined;
    if (response?.req.failBody !== undefined) response.req.failBody(failure);
    // Express passes the failure to the filter.
    else if (response?.headersSent === false) response.req.next?.(failure);
  }

  /**
   * Closes the connection of a client that does not read its answers, or that sends bytes without completing a request:
   * Node restarts its own timers with every byte, even with blank lines between requests. A request whose header fields
   * begin to arrive at the end of the idle time still gets the time of header fields.
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

  /**
   * Ends the connection with the failure of something that has no response object.
   *
   * @param previous the last request that was answered
   */
  private end(failure: ServiceException, previous?: Request): void {
    if (this.socket.writable) {
      const answer = toAnswer(failure);
      this.socket.end(rawAnswer(answer, this.port.noteRefusal?.(answer)));
    }
    const isAuthenticated = previous?.principal !== undefined;
    lingeringClose(this.socket, isAuthenticated ? this.limits.refusedBody : undefined);
  }
}

/** What a request takes in memory, at least about. */
function bytesOf({ url, rawHeaders }: Request): number {
  return rawHeaders.reduce((sum, text) => sum + text.length, MAX_PIPELINED.each + url.length);
}

/** Destroys with an error, so that a truncated answer does not count as sent (is-answered.ts). */
export function cutOff(socket: Socket): void {
  socket.destroy(new Error('the connection timed out'));
}

/** Bytes that were written and that the client has not received yet. */
export function unsentBytes(socket: Socket): number {
  // `writableLength` counts a long write until all of it has left. Node's own `_onTimeout` reads the handle as well.
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize: number } };
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}
