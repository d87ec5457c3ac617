import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { Metrics } from '../observability/metrics.js';
import { toAnswer } from '../errors/to-answer.js';
import { answerFailure } from './answer-failure.js';

/** Time for requests that clients have sent already, and for the last answers to leave, in milliseconds. */
export const LAST_CALL = 1_000;

/** The longest turn of an idle event loop, and how long to wait for such a turn, in milliseconds. */
const QUIET = { turn: 0.05, within: 100 } as const;

/** Knows which requests are under way, and lets them end when the service stops. */
@Injectable()
export class Draining {
  /**
   * The response that each connection waits for: the server hands on one request of a connection at a time.
   * An entry stays as long as its connection: a map whose entries come and go with the requests is rebuilt all
   * the time, and V8 keeps what its old tables refer to until the next major garbage collection.
   */
  private readonly responses = new Map<Socket, Response | undefined>();
  private underWay = 0;
  private draining = false;
  private onIdle = (): void => {};

  constructor(private readonly metrics: Metrics) {}

  /** Counts a request. Every request must pass here. */
  readonly track = ({ socket }: Request, response: Response): void => {
    if (!this.responses.has(socket)) socket.once('close', () => this.responses.delete(socket));
    this.responses.set(socket, response);
    this.underWay += 1;
    response.once('close', () => {
      if (this.responses.has(socket)) this.responses.set(socket, undefined);
      this.underWay -= 1;
      if (this.underWay === 0) this.onIdle();
    });
    if (this.draining) response.setHeader('Connection', 'close');
  };

  /**
   * Closes the server. It takes no new connection, and every answer from now on is the last of its
   * connection. Idle connections are ended a second later: a proxy may have sent a request on one already,
   * and must not repeat it by itself (RFC 9110, section 9.2.2). Requests that are still under way after
   * `bound` milliseconds are answered 503.
   */
  async drain(server: Server, bound: number): Promise<void> {
    // Connections that the system has made, and this process has not accepted yet, would be reset.
    await quietMoment();
    this.draining = true;
    const closed = once(server, 'close');
    // HTTP's own `close` cuts idle connections at once.
    NetServer.prototype.close.call(server);
    for (const response of this.responses.values()) {
      if (response?.headersSent === false) response.setHeader('Connection', 'close');
    }
    // Requests that clients have sent already arrive and are answered.
    await Promise.race([closed, after(LAST_CALL)]);
    // A connection on which a request has arrived, and has not been read yet, counts as idle.
    await quietMoment();
    server.closeIdleConnections();
    if (this.underWay > 0) {
      await Promise.race([this.idle(), after(bound)]);
      for (const response of this.responses.values()) this.refuse(response);
      await Promise.race([closed, after(LAST_CALL)]);
    }
    server.closeAllConnections();
    await closed;
  }

  private idle(): Promise<void> {
    return new Promise((resolve) => {
      this.onIdle = resolve;
    });
  }

  private refuse(response: Response | undefined): void {
    if (response === undefined || response.headersSent) return;
    answerFailure(response, toAnswer(new PlantStoreError('shutting-down')), this.metrics);
  }
}

/** Waits, within a bound, until the event loop has read all that has arrived. */
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

function after(milliseconds: number): Promise<void> {
  return sleep(milliseconds, undefined, { ref: false });
}
