import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, Response } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';
import type { Observability } from '../../observability/observability.module.js';
import { lingeringClose, stopParsing } from '../body/unread-body.js';
import { answerFailure } from '../errors/answer-failure.js';
import { toAnswer } from '../errors/to-answer.js';
import type { HttpLimits } from './limits.js';
import { rawAnswer } from './raw-answer.js';
import { newRequestId, REQUEST_ID_HEADER } from './request-id.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { isTarget } from './well-formed.js';

/** Most unanswered requests on one connection (pipelining). */
const MAX_PIPELINED = 100;

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
  private isRefused = false;
  /** When the last response finished, or the client was last seen to receive bytes. */
  movedAt = performance.now();
  /** Bytes that the client had not received when it was last looked at. */
  unsent = 0;

  /** @param serve handles one request */
  constructor(
    private readonly socket: Socket,
    private readonly serve: (request: Request, response: Response) => void,
    private readonly limits: HttpLimits,
    private readonly observability: Observability,
  ) {}

  /** The response of the request that is being handled. */
  get current(): ServerResponse | undefined {
    return this.unanswered[0];
  }

  receive(request: Request, response: Response): void {
    if (this.isRefused) return;
    if (this.unanswered.length >= MAX_PIPELINED) {
      this.refuse(new PlantStoreError(ERRORS.tooManyUnanswered));
      return;
    }
    const before = this.unanswered.at(-1);
    this.unanswered.push(response);
    response.once('close', () => {
      this.unanswered.splice(this.unanswered.indexOf(response), 1);
      this.movedAt = performance.now();
    });
    if (before === undefined) this.handle(request, response);
    else before.once('close', () => this.handle(request, response));
  }

  private handle(request: Request, response: Response): void {
    // The previous answer closed the connection (RFC 9112, section 9.6).
    if (!this.socket.writable) return;
    // The connection was refused in the middle of this request, while the request waited for its turn.
    if (this.isRefused && !request.complete) return;
    // Express finds no path in such a target, and would answer by itself.
    if (isTarget(request)) this.serve(request, response);
    else this.end(new PlantStoreError(ERRORS.badRequest, 'the request target is not a URL'));
  }

  /** Reads no more requests, and tells the client the failure when its turn comes. */
  refuse(failure: PlantStoreError): void {
    // After a refusal, later bytes may fail to parse as well.
    if (this.isRefused || this.socket.destroyed) return;
    this.isRefused = true;
    // Node removes its own listener before it hands over the socket of a CONNECT.
    this.socket.on('error', () => {});
    const current = this.current as Response | undefined;
    const last = this.unanswered.findLast(({ req }) => req.complete) as Response | undefined;
    const isReading = current?.req.failBody !== undefined;
    // The answer has begun before the end of its request, and is the last on the connection.
    if (current?.headersSent === true && last === undefined && !isReading) return;
    stopParsing(this.socket);
    this.socket.once('close', () => current?.req.destroy(new Error('aborted')));
    if (current === undefined) this.end(failure);
    else if (last !== undefined) last.once('close', () => this.end(failure, last.req));
    // A handler may read the request without the service's help.
    else if (isReading || current.req.readableFlowing === true) this.fail(failure);
    // Handlers that do not read the body answer by themselves.
    else current.req.once('resume', () => this.fail(failure));
  }

  /** Answers the current request with a failure: the reader of its body does, or it is not answered yet. */
  fail(failure: PlantStoreError): void {
    const response = this.current as Response | undefined;
    if (response?.req.failBody !== undefined) response.req.failBody(failure);
    else if (response?.headersSent === false && this.socket.writable) {
      answerFailure(response, toAnswer(failure), this.observability.metrics);
    }
  }

  /**
   * Ends the connection with the failure of something that has no response object.
   *
   * @param previous the last request that was answered
   */
  private end(failure: PlantStoreError, previous?: Request): void {
    if (this.socket.writable) {
      const requestId = newRequestId();
      const { status, headers, body } = toAnswer(failure);
      const { logger, metrics } = this.observability;
      logger.info({ requestId, status, error: body.error }, 'refused');
      metrics.recordRefusal(body.error);
      const all = { ...SECURITY_HEADERS, [REQUEST_ID_HEADER]: requestId, ...headers };
      this.socket.end(rawAnswer({ status, headers: all, body }));
    }
    const isAuthenticated = previous?.principal !== undefined;
    lingeringClose(this.socket, isAuthenticated ? this.limits.refusedBody : undefined);
  }
}
