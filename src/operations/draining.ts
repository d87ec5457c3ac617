import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { toAnswer } from '../errors/to-answer.js';
import { sendJson } from '../http/send-json.js';

/** Knows which requests are under way, and sees them off when the service stops. */
@Injectable()
export class Draining {
  private readonly underWay = new Set<ServerResponse>();
  private draining = false;

  /** Middleware that must see every request. */
  readonly track = (_request: Request, response: Response, next: NextFunction): void => {
    this.underWay.add(response);
    response.once('close', () => this.underWay.delete(response));
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
    const deadline = setTimeout(() => {
      for (const response of this.underWay) refuse(response);
      // Node writes an answer in the next tick.
      setImmediate(() => server.closeAllConnections());
    }, bound);
    await closed;
    clearTimeout(deadline);
  }
}

function refuse(response: ServerResponse): void {
  if (response.headersSent) return;
  const { status, headers, body } = toAnswer(new PlantStoreError('shutting-down'));
  response.setHeaders(new Headers(headers));
  sendJson(response, status, body);
}
