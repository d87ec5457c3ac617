import type { Response } from 'express';

/**
 * Breaks the connection in the middle of a response. In HTTP/1.0, the end of the connection completes a response, so only a
 * reset tells that it is not complete (RFC 9112, section 8).
 */
export function breakOff(response: Response): void {
  response.isBroken = true;
  if (response.req.httpVersion === '1.0') response.req.socket.resetAndDestroy();
  else response.destroy();
}
