import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request } from 'express';

/** What is still read and discarded from a client without a valid token, so that it receives the response. */
export const UNAUTHENTICATED = { bytes: 64 * 1024, milliseconds: 1_000 } as const;

/** Whether a request announces content (RFC 9112, section 6.3). */
export function declaresBody({ headers }: IncomingMessage): boolean {
  return (
    headers['transfer-encoding'] !== undefined || !/^0*$/.test(headers['content-length'] ?? '')
  );
}

/**
 * Closes a connection after the response if the body was not read to the end: Node would read the rest, however long. To be
 * called before the header fields are written.
 *
 * @param timeout for the rest of the body of an authenticated request, in milliseconds
 */
export function closeAfterUnreadBody(
  request: Request,
  response: ServerResponse,
  timeout: number,
): void {
  if (isRead(request)) return;
  response.shouldKeepAlive = false;
  response.once('prefinish', () => {
    if (isRead(request)) return;
    lingeringClose(request.socket, request.principal === undefined ? undefined : timeout);
  });
}

function isRead(request: Request): boolean {
  if (request.bodyIsRead === true || !declaresBody(request)) return true;
  return request.complete && request.readableLength === 0;
}

/** Until {@link lingeringClose}. */
export function stopParsing(socket: Socket): void {
  socket
    .removeAllListeners('data')
    .on('data', () => {})
    .pause();
}

/**
 * Closes a connection after its last response, in two steps (RFC 9112, section 9.6): an immediate close could reset it, and
 * the client would lose the response. What still arrives is discarded unparsed.
 *
 * @param timeout in milliseconds, for a client with a valid token, which may send any number of bytes
 */
export function lingeringClose(socket: Socket, timeout?: number): void {
  if (socket.destroyed) return;
  // Node calls it after the last response, and would destroy the socket.
  Object.assign(socket, { destroySoon: () => socket.end() });
  const timer = setTimeout(() => socket.destroy(), timeout ?? UNAUTHENTICATED.milliseconds);
  let left = timeout === undefined ? UNAUTHENTICATED.bytes : Infinity;
  const onData = ({ length }: Buffer) => {
    left -= length;
    if (left < 0) socket.destroy();
  };
  socket.removeAllListeners('data').on('data', onData).resume();
  // Node's parser may have paused the handle below the stream, which would then wait for ever.
  // oxlint-disable-next-line no-underscore-dangle
  socket._read(0);
  socket.once('close', () => clearTimeout(timer));
}
