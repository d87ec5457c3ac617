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

/** For requests and answers that are on their way, in milliseconds. */
export const LAST_CALL = 1_000;

/** A turn of the event loop that did next to nothing, and how long one is waited for, in milliseconds. */
const QUIET = { turn: 0.05, within: 100 } as const;

/** Knows which requests are under way, and sees them off when the service stops. */
@Injectable()
export class Draining {
  /**
   * The response that each connection waits for; connections take turns by themselves. One entry for a
   * connection, and none for a request: a table that is refilled all the time leaves old versions of
   * itself behind, and V8 keeps what they name until its next major garbage collection.
   */
  private readonly responses = new Map<Socket, Response | undefined>();
  private underWay = 0;
  private draining = false;
  private onIdle = (): void => {};

  constructor(private readonly metrics: Metrics) {}

  /** A step that must see every request. */
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
   * Closes the server: as soon as nobody is at the door, no new connection, and every answer from then on
   * the last of its connection. Idle connections are ended after a moment: a proxy may have sent a request
   * on one already, and must not send it again by itself (RFC 9110, section 9.2.2). What is still under way
   * after `bound` milliseconds is answered with 503.
   */
  async drain(server: Server, bound: number): Promise<void> {
    // The system resets connections that it has made, and that nobody has accepted yet.
    await quietMoment();
    this.draining = true;
    const closed = once(server, 'close');
    // HTTP's own `close` cuts idle connections at once.
    NetServer.prototype.close.call(server);
    for (const response of this.responses.values()) {
      if (response?.headersSent === false) response.setHeader('Connection', 'close');
    }
    // What is on its way comes in, what is under way is answered, the answers leave.
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

/** Waits, for a moment at most, until the event loop has taken up all that has arrived. */
async function quietMoment(): Promise<void> {
  const deadline = performance.now() + QUIET.within;
  let turn = performance.now();
  for (;;) {
    // After everything that has arrived.
    await immediate();
    const now = performance.now();
    if (now - turn < QUIET.turn || now > deadline) return;
    turn = now;
  }
}

function after(milliseconds: number): Promise<void> {
  return sleep(milliseconds, undefined, { ref: false });
}
