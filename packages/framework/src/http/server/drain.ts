import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import type { Response } from 'express';
import { waitAtMost } from '../../bounds/waits.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { breakOff } from '../responses/break-off.js';
import type { Connection } from './connection.js';

/** Time for requests that clients have already sent, and for the last responses to leave, in milliseconds. */
export const LAST_CALL = 1_000;

/** Between two checks whether requests are still running, in milliseconds. */
const POLL = 20;

/** The longest turn of an idle event loop, and how long to wait for such a turn, in milliseconds. */
const QUIET = { turn: 0.05, within: 100 } as const;

/**
 * Closes a server gracefully: it accepts no new connections, and each connection closes after its current response.
 * Idle connections close a second later, because a proxy may just have sent a request on one, and must not repeat
 * it by itself (RFC 9110, section 9.2.2). Requests that still run after `timeout` milliseconds get 503.
 */
export async function drain(
  server: Server,
  connections: ReadonlyMap<Socket, Connection>,
  timeout: number,
): Promise<void> {
  const running = () => [...connections.values()].filter(({ current }) => current !== undefined);
  // Connections that this process has not accepted yet would be reset.
  await quietMoment();
  const closed = once(server, 'close');
  // HTTP's own `close` closes idle connections at once.
  NetServer.prototype.close.call(server);
  for (const { current } of running()) {
    if (current?.headersSent === false) current.setHeader('Connection', 'close');
  }
  await waitAtMost(LAST_CALL, closed);
  // A connection counts as idle until its next request has been read.
  await quietMoment();
  server.closeIdleConnections();
  if (running().length > 0) {
    const deadline = performance.now() + timeout;
    while (running().length > 0 && performance.now() < deadline) await sleep(POLL);
    for (const connection of running()) connection.fail(new ServiceException(ERRORS.shuttingDown));
    await waitAtMost(LAST_CALL, closed);
  }
  for (const { current } of running()) {
    if (current?.writableEnded === false) breakOff(current as Response);
  }
  // Not `closeAllConnections()`, which misses sockets that Node detached from the server after a CONNECT.
  for (const socket of connections.keys()) socket.destroy();
  await closed;
}

/** Waits, with a timeout, until the event loop has read all that has arrived. */
async function quietMoment(): Promise<void> {
  const deadline = performance.now() + QUIET.within;
  let turn = performance.now();
  for (;;) {
    // Called after the poll phase, which reads from sockets.
    await immediate();
    const now = performance.now();
    if (now - turn < QUIET.turn || now > deadline) return;
    turn = now;
  }
}
