import { validateHeaderName, validateHeaderValue } from 'node:http';
import { Catch, Inject } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { CONFIG } from '../../config/config.module.js';
import type { Config } from '../../config/config.js';
import { stringifyExactJson } from '../../json/exact-json.js';
import { breakOff } from '../responses/break-off.js';
import { sendJson } from '../responses/send-json.js';
import { describeError } from '../../observability/describe-error.js';
import { LOGGER } from '../../observability/logger.js';
import { Metrics } from '../../observability/metrics.js';
import { RepeatedErrors } from '../../observability/repeated-errors.js';
import type { ErrorDto } from './error.dto.js';
import { ServiceException } from '../../errors/service.exception.js';
import { toErrorResponse } from './to-error-response.js';
import type { ErrorResponse } from './to-error-response.js';

/** Of a file: set by a route, or by Express before it fails to send it. */
const FILE_HEADERS = [
  'Accept-Ranges',
  'Cache-Control',
  'Content-Disposition',
  'Content-Encoding',
  'ETag',
  'Last-Modified',
];

/**
 * Sends every error of a request with its number and message. The application lists it before its own filters, because Nest
 * calls the last one first.
 *
 * @example
 * providers: [
 *   { provide: APP_FILTER, useClass: ErrorFilter },
 *   { provide: APP_FILTER, useClass: MyErrorFilter }, // `@Catch(MyError)`
 * ],
 */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly repeated = new RepeatedErrors();

  constructor(
    @Inject(CONFIG) private readonly config: Pick<Config, 'identity'>,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    // The client disconnected before the end of its request.
    if (request.destroyed && !request.complete) return;
    // It disconnected later, and `RequestSignal` has ended the work.
    if (response.closed && thrown instanceof Error && thrown.name === 'AbortError') return;

    const errorResponse = toErrorResponse(thrown, this.config.identity.name);
    if (errorResponse.status >= 500) this.report(thrown, request, errorResponse.body);
    // A stream may have failed after its last byte.
    if (!response.writableEnded) this.send(request, response, errorResponse);
  }

  private send(request: Request, response: Response, error: ErrorResponse): void {
    const { status, headers, body } = error;
    response.error = body.error;
    this.metrics.recordError(body.error);
    if (!response.headersSent) {
      for (const name of FILE_HEADERS) response.removeHeader(name);
      const fields = Object.entries(headers).filter((field) => this.canSend(field, request, body));
      response.setHeaders(new Headers(fields));
      sendJson(response, status, body);
    } else if (response.endsInError === true) response.end(`${stringifyExactJson(body)}\n`);
    else breakOff(response);
  }

  /** A field that HTTP forbids, for example with a text of a client, must not replace the error by another one. */
  private canSend(
    [name, value]: readonly [string, string],
    request: Request,
    body: ErrorDto,
  ): boolean {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
      return true;
    } catch (error) {
      this.report(error, request, body);
      return false;
    }
  }

  /**
   * Logs 5xx errors with a cause, and unexpected ones, which may happen thousands of times a second. The database logs its
   * outages itself.
   */
  private report(thrown: unknown, request: Request, { error, message }: ErrorDto): void {
    const context = { requestId: request.id, error };
    if (!(thrown instanceof ServiceException)) {
      const path = String((request.route as { path?: unknown } | undefined)?.path);
      const repeated = this.repeated.note(thrown, `${request.method} ${path}`);
      if (repeated === undefined) return;
      this.logger.error({ ...context, err: thrown, ...(repeated > 0 && { repeated }) }, message);
    } else if (thrown.cause !== undefined) {
      this.logger.warn({ ...context, reason: describeError(thrown.cause) }, message);
    }
  }
}
