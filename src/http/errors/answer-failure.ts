import type { Response } from 'express';
import type { ErrorAnswer } from './to-answer.js';
import type { Metrics } from '../../observability/metrics.js';
import { stringifyExactJson } from '../../json/exact-json.js';
import { breakOff } from '../answers/break-off.js';
import { sendJson } from '../answers/send-json.js';

/**
 * Answers a request with an Error, and notes its number in the metrics and in the log line of the request. An answer that
 * has begun already ends in a way that the client notices.
 */
export function answerFailure(
  response: Response,
  { status, headers, body }: ErrorAnswer,
  metrics: Metrics,
): void {
  response.error = body.error;
  metrics.recordRefusal(body.error);
  if (!response.headersSent) {
    response.setHeaders(new Headers(headers));
    sendJson(response, status, body);
  } else if (response.endsInError === true) {
    response.end(`${stringifyExactJson(body)}\n`);
  } else {
    breakOff(response);
  }
}
