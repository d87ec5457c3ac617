import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { ERRORS } from '../errors/common-errors.js';
import { ServiceException } from '../errors/service.exception.js';
import { toErrorResponse } from '../http/errors/to-error-response.js';
import { Health } from '../observability/health.js';
import type { HealthState } from '../observability/health.js';
import { LOGGER } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { methodNotAllowed } from '../http/server/allowed-methods.js';
import { HttpServer } from '../http/server/http-server.js';
import { HTTP_LIMITS } from '../http/server/limits.js';
import { sendJson } from '../http/responses/send-json.js';
import { declaresBody } from '../http/body/unread-body.js';
import { wellFormed } from '../http/server/well-formed.js';

export const MAX_CONNECTIONS = 100;

/** Between two requests on a connection, and for a connection without traffic, in milliseconds. */
const LIMITS = { ...HTTP_LIMITS, keepAlive: 5_000, socketIdle: 10_000 } as const;

const LIVE: HealthState = { status: 'ok' };

@Injectable()
export class ManagementServer {
  readonly server = new HttpServer(LIMITS, {
    // Errors after the first byte have no other handler.
    serve: (request, response) =>
      void this.respond(request, response).catch(() => response.destroy()),
  });

  constructor(
    private readonly health: Health,
    private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.server.on('connection', () => this.makeRoom());
  }

  /** Closes the least recently used connections above the limit, so that no client can block probes. */
  private makeRoom(): void {
    const { openConnections } = this.server;
    const byUse = [...openConnections].toSorted(([, a], [, b]) => a.movedAt - b.movedAt);
    for (const [socket] of byUse.slice(0, -MAX_CONNECTIONS)) {
      openConnections.delete(socket);
      socket.destroy();
    }
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Bodies are never read.
    if (declaresBody(request)) response.setHeader('Connection', 'close');
    try {
      wellFormed(request);
      await this.route(request, response);
    } catch (error) {
      const { status, headers, body } = toErrorResponse(error);
      if (status >= 500) this.logger.error({ error: body.error, err: error }, body.message);
      response.setHeaders(new Headers(headers));
      sendJson(response, status, body);
    }
  }

  private async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = String(request.url).split('?', 1);
    if (!['/health/live', '/health/ready', '/metrics'].includes(path)) {
      throw new ServiceException(ERRORS.noSuchPath);
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw methodNotAllowed(['GET', 'HEAD']);
    }
    if (path === '/metrics') {
      const text = await this.metrics.text();
      response.setHeader('Content-Type', this.metrics.registry.contentType);
      response.end(text);
      return;
    }
    const state = path === '/health/ready' ? await this.health.state() : LIVE;
    sendJson(response, state.status === 'ok' ? 200 : 503, state);
  }
}
