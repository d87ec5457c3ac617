import type { Response } from 'express';
import type { ErrorAnswer } from './to-answer.js';
import type { Metrics } from '../../observability/metrics.js';
import { stringifyExactJson } from '../../json/exact-json.js';
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

/**
 * Breaks the connection in the middle of an answer. An answer of HTTP/1.0 ends with the connection, so only a reset tells
 * that it is not complete (RFC 9112, section 8).
 */
export function breakOff(response: Response): void {
  response.isBroken = true;
  if (response.req.httpVersion === '1.0') response.req.socket.resetAndDestroy();
  else response.destroy();
}
