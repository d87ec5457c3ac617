import type { Socket } from 'node:net';
import type { Connection } from './connection.js';
import type { ServerLimits } from './limits.js';

/**
 * Closes the connections of clients that do not read their answers, or that send bytes without completing a
 * request. Node restarts its own timers with every byte, even with blank lines between requests. A request whose
 * header fields begin to arrive at the end of the idle time still gets the time of header fields.
 */
export function closeStalled(
  connections: ReadonlyMap<Socket, Connection>,
  { keepAlive, headers, socketIdle }: ServerLimits,
): void {
  const now = performance.now();
  for (const [socket, connection] of connections) {
    const unsent = unsentBytes(socket);
    if (unsent !== connection.unsent) Object.assign(connection, { unsent, movedAt: now });
    const isIdle = connection.current === undefined && socket.writable;
    const timeout = isIdle ? keepAlive + headers : socketIdle;
    if ((isIdle || unsent > 0) && now - connection.movedAt > timeout) cutOff(socket);
  }
}

/** Destroys with an error, so that a truncated answer does not count as sent (is-answered.ts). */
export function cutOff(socket: Socket): void {
  socket.destroy(new Error('the connection timed out'));
}

/** Bytes that were written and that the client has not received yet. */
function unsentBytes(socket: Socket): number {
  // `writableLength` counts a long write until all of it has left. Node's own `_onTimeout` reads the handle as well.
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize: number } };
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}
