import { Catch, Inject } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { describeFailure, driverFailure } from '../database/database-failure.js';
import { answerFailure } from './answer-failure.js';
import { LOGGER } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { toAnswer } from '../errors/to-answer.js';

/** The one door through which every failure leaves. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    // A client that went away fails its own request: there is nobody to answer and nothing to mend.
    if (request.destroyed && !request.complete) return;

    const failure = driverFailure(exception);
    const answer = toAnswer(failure);
    const { error, message } = answer.body;
    if (answer.status >= 500) this.report(failure, { requestId: request.id, error }, message);
    if (!response.headersSent) answerFailure(response, answer, this.metrics);
    // A stream can fail after its last byte, too.
    else if (!response.writableEnded) response.destroy();
  }

  /** Of outages only the refusals that found them out: all that follow from one are thousands in a second. */
  private report(failure: unknown, context: object, message: string): void {
    if (!(failure instanceof PlantStoreError)) {
      this.logger.error({ ...context, err: failure }, message);
    } else if (failure.cause !== undefined) {
      this.logger.warn({ ...context, reason: describeFailure(failure.cause) }, message);
    }
  }
}
