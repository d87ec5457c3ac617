import { Catch, Inject } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { CONFIG } from '../../config/config.module.js';
import type { Config } from '../../config/config.js';
import { stringifyExactJson } from '../../json/exact-json.js';
import { breakOff } from '../answers/break-off.js';
import { sendJson } from '../answers/send-json.js';
import { describeFailure } from '../../observability/describe-failure.js';
import { LOGGER } from '../../observability/logger.js';
import { Metrics } from '../../observability/metrics.js';
import { RepeatedFailures } from '../../observability/repeated-failures.js';
import type { ErrorDto } from './error.dto.js';
import { ServiceException } from '../../errors/service.exception.js';
import { toAnswer } from './to-answer.js';
import type { ErrorAnswer } from './to-answer.js';

/** What Express has said of a file before it could not send it. */
const OF_FILE = ['Accept-Ranges', 'ETag', 'Last-Modified'];

/**
 * Answers every error of a request with its number and message. The application lists it before filters for errors of its own, because
 * Nest asks the last one first:
 *
 * ```ts
 * providers: [
 *   { provide: APP_FILTER, useClass: ErrorFilter },
 *   { provide: APP_FILTER, useClass: MyErrorFilter }, // `@Catch(MyError)`
 * ],
 * ```
 */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly repeated = new RepeatedFailures();

  constructor(
    @Inject(CONFIG) private readonly config: Pick<Config, 'identity'>,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  catch(failure: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    // The client disconnected before the end of its request: there is nobody to answer, and the service has not failed.
    if (request.destroyed && !request.complete) return;

    const answer = toAnswer(failure, this.config.identity.name);
    if (answer.status >= 500) this.report(failure, request, answer.body);
    // Unless a stream failed after its last byte.
    if (!response.writableEnded) this.answer(response, answer);
  }

  /** Notes the number in the metrics and in the log line of the request. The client notices the end of a started answer. */
  private answer(response: Response, { status, headers, body }: ErrorAnswer): void {
    response.error = body.error;
    this.metrics.recordRefusal(body.error);
    if (!response.headersSent) {
      for (const name of OF_FILE) response.removeHeader(name);
      response.setHeaders(new Headers(headers));
      sendJson(response, status, body);
    } else if (response.endsInError === true) response.end(`${stringifyExactJson(body)}\n`);
    else breakOff(response);
  }

  /**
   * Logs 5xx answers whose cause nobody has logged: a failure with a cause, and a failure for which nobody has provided,
   * which may happen thousands of times a second. The database logs its outages itself.
   */
  private report(failure: unknown, request: Request, { error, message }: ErrorDto): void {
    const context = { requestId: request.id, error };
    if (!(failure instanceof ServiceException)) {
      const path = String((request.route as { path?: unknown } | undefined)?.path);
      const repeated = this.repeated.note(failure, `${request.method} ${path}`);
      if (repeated === undefined) return;
      this.logger.error({ ...context, err: failure, ...(repeated > 0 && { repeated }) }, message);
    } else if (failure.cause !== undefined) {
      this.logger.warn({ ...context, reason: describeFailure(failure.cause) }, message);
    }
  }
}
