import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request } from 'express';

/** How much is still taken off the line of a refused connection, so that the answer arrives. */
export const DRAIN = { bytes: 64 * 1024, milliseconds: 1_000 };

/** Whether a request announces content (RFC 9112, section 6.3). */
export function declaresBody({ headers }: IncomingMessage): boolean {
  return (
    headers['transfer-encoding'] !== undefined || !/^0*$/.test(headers['content-length'] ?? '')
  );
}

/**
 * Sees to it, before the header fields of the answer are written, that a connection is kept only when
 * the body of its request was read to the end. It is closed otherwise, in two steps (RFC 9112, section
 * 9.6), because a reset could cost the client the answer. Node by itself would read the rest of the
 * body, however long.
 */
export function closeAfterUnreadBody(request: Request, response: ServerResponse): void {
  if (isRead(request)) return;
  response.shouldKeepAlive = false;
  response.once('prefinish', () => {
    if (!isRead(request)) drain(request);
  });
}

function isRead(request: Request): boolean {
  if (request.bodyIsRead === true || !declaresBody(request)) return true;
  return request.complete && request.readableLength === 0;
}

function drain(request: IncomingMessage): void {
  const { socket } = request;
  // What Node calls after the last answer of a connection; its own version destroys the socket.
  socket.destroySoon = () => socket.end();
  const deadline = setTimeout(() => socket.destroy(), DRAIN.milliseconds);
  socket.once('close', () => clearTimeout(deadline));
  let left = DRAIN.bytes;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  request.on('error', () => {});
  request.resume();
}
