import type { Response } from 'express';

/**
 * Breaks the connection in the middle of an answer. An answer of HTTP/1.0 ends with the connection, so only a reset tells
 * that it is not complete (RFC 9112, section 8).
 */
export function breakOff(response: Response): void {
  response.isBroken = true;
  if (response.req.httpVersion === '1.0') response.req.socket.resetAndDestroy();
  else response.destroy();
}
