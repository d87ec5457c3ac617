import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { toAnswer } from '../errors/to-answer.js';
import { sendJson } from '../http/send-json.js';

/** For requests and answers that are on their way, in milliseconds. */
const LAST_CALL = 1_000;

/** Knows which requests are under way, and sees them off when the service stops. */
@Injectable()
export class Draining {
  private readonly underWay = new Set<ServerResponse>();
  private draining = false;
  private onIdle = (): void => {};

  /** Middleware that must see every request. */
  readonly track = (_request: Request, response: Response, next: NextFunction): void => {
    this.underWay.add(response);
    response.once('close', () => {
      this.underWay.delete(response);
      if (this.underWay.size === 0) this.onIdle();
    });
    if (this.draining) response.setHeader('Connection', 'close');
    next();
  };

  /**
   * Closes the server: no new connection, idle ones ended, every answer from now on the last of its
   * connection. What is still under way after `bound` milliseconds is answered with 503.
   */
  async drain(server: Server, bound: number): Promise<void> {
    this.draining = true;
    const closed = once(server, 'close');
    server.close();
    for (const response of this.underWay) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
    }
    // What is on its way comes in, what is under way is answered, the answers leave.
    await Promise.race([closed, after(LAST_CALL)]);
    if (this.underWay.size > 0) {
      await Promise.race([this.idle(), after(bound)]);
      for (const response of this.underWay) refuse(response);
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
}

function after(milliseconds: number): Promise<void> {
  return sleep(milliseconds, undefined, { ref: false });
}

function refuse(response: ServerResponse): void {
  if (response.headersSent) return;
  const { status, headers, body } = toAnswer(new PlantStoreError('shutting-down'));
  response.setHeaders(new Headers(headers));
  sendJson(response, status, body);
}
