import type { Response } from 'express';
import type { ErrorAnswer } from '../errors/to-answer.js';
import type { Metrics } from '../observability/metrics.js';
import { sendJson } from './send-json.js';

/** Answers a request with an Error, and notes its number in the metrics and in the log line of the request. */
export function answerFailure(
  response: Response,
  { status, headers, body }: ErrorAnswer,
  metrics: Metrics,
): void {
  response.error = body.error;
  metrics.recordRefusal(body.error);
  response.setHeaders(new Headers(headers));
  sendJson(response, status, body);
}
