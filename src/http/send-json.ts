import type { IncomingMessage, ServerResponse } from 'node:http';
import { stringifyExactJson } from './exact-json.js';

/** How much of a body that nobody wants is still taken off the line, so that the answer arrives. */
const DRAIN = { bytes: 64 * 1024, milliseconds: 1_000 };

/** Emitted by a response whose answer is complete, while what is left of the request still drains. */
export const ANSWERED = 'answered';

/**
 * Answers with a JSON value; `bigint`s are written digit for digit.
 *
 * A connection is kept only if the body of the request was read to its end. Otherwise it is closed
 * in two steps (RFC 9112, section 9.6), because a reset could cost the client the answer.
 */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(stringifyExactJson(value));
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json');
  response.setHeader('Content-Length', body.length);
  if (declaresBody(response.req) && !response.req.readableEnded) {
    response.setHeader('Connection', 'close');
    response.write(body);
    response.emit(ANSWERED);
    drain(response);
  } else {
    response.end(body);
  }
}

/** Whether a request announces content (RFC 9112, section 6.3). */
export function declaresBody({ headers }: IncomingMessage): boolean {
  return (
    headers['transfer-encoding'] !== undefined || !/^0*$/.test(headers['content-length'] ?? '')
  );
}

function drain(response: ServerResponse): void {
  const request = response.req;
  let left = DRAIN.bytes;
  // Ending the last answer of a connection makes Node destroy its socket.
  const end = () => response.end();
  const deadline = setTimeout(end, DRAIN.milliseconds);
  response.once('close', () => clearTimeout(deadline));
  request.once('end', end);
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) end();
  });
  request.resume();
}
