import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request } from 'express';

/** What is still read, and thrown away, from a caller without a valid token, so that the refusal arrives. */
const STRANGER = { bytes: 64 * 1024, milliseconds: 1_000 } as const;

declare global {
  namespace Express {
    interface Request {
      /** Set by the guard. The refusal of a long body must reach whoever may send a shorter one. */
      isAuthenticated?: boolean;
    }
  }
}

/** Whether a request announces content (RFC 9112, section 6.3). */
export function declaresBody({ headers }: IncomingMessage): boolean {
  return (
    headers['transfer-encoding'] !== undefined || !/^0*$/.test(headers['content-length'] ?? '')
  );
}

/**
 * Lets a connection be used again only when the body of its request was read to the end. Called before the
 * header fields of the answer are written. Node by itself would read the rest of the body, however long.
 *
 * @param patience for the rest of the body of an authenticated request, in milliseconds
 */
export function closeAfterUnreadBody(
  request: Request,
  response: ServerResponse,
  patience: number,
): void {
  if (isRead(request)) return;
  response.shouldKeepAlive = false;
  response.once('prefinish', () => {
    if (!isRead(request)) drain(request.socket, request.isAuthenticated && patience);
  });
}

function isRead(request: Request): boolean {
  if (request.bodyIsRead === true || !declaresBody(request)) return true;
  return request.complete && request.readableLength === 0;
}

/** Stops reading and parsing what arrives on a connection, until {@link drain}. */
export function hold(socket: Socket): void {
  socket
    .removeAllListeners('data')
    .on('data', () => {})
    .pause();
}

/**
 * Closes a connection behind its last answer, in two steps (RFC 9112, section 9.6), because a reset could cost
 * the client the answer. What still arrives is thrown away unparsed.
 *
 * @param patience in milliseconds, for a caller with a valid token; no number of bytes bounds it
 */
export function drain(socket: Socket, patience?: number | false): void {
  if (socket.destroyed) return;
  // Node calls it after the last answer of a connection, and would destroy the socket.
  socket.destroySoon = () => socket.end();
  const deadline = setTimeout(() => socket.destroy(), patience || STRANGER.milliseconds);
  let left = patience ? Infinity : STRANGER.bytes;
  const onData = ({ length }: Buffer) => {
    left -= length;
    if (left < 0) socket.destroy();
  };
  socket.removeAllListeners('data').on('data', onData).resume();
  // Node's parser may have stopped reading below the stream, which does not notice and would wait for ever.
  // oxlint-disable-next-line no-underscore-dangle
  socket._read(0);
  socket.once('close', () => clearTimeout(deadline));
}
