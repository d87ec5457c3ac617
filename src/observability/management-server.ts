import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { MethodNotAllowedError } from '../errors/method-not-allowed.error.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { toAnswer } from '../errors/to-answer.js';
import { LOGGER } from './logger.js';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';

/** Connections open at the same time; further ones are closed at once. */
const MAX_CONNECTIONS = 100;

/** Health and metrics, on a port of their own that is never published. */
@Injectable()
export class ManagementServer {
  readonly server: Server = createServer(
    { requestTimeout: 10_000, headersTimeout: 10_000 },
    (request, response) => void this.answer(request, response),
  );

  constructor(
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.server.maxConnections = MAX_CONNECTIONS;
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.route(request, response);
    } catch (error) {
      const { status, headers, body } = toAnswer(error);
      if (status >= 500) this.logger.error({ error: body.error, err: error }, body.message);
      response.setHeaders(new Headers(headers));
      sendJson(response, status, body);
    }
  }

  private async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = String(request.url).split('?', 1);
    if (!['/health/live', '/health/ready', '/metrics'].includes(path)) {
      throw new PlantStoreError('no-such-path');
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new MethodNotAllowedError(['GET', 'HEAD']);
    }
    if (path === '/metrics') {
      const text = await this.metrics.text();
      response.setHeader('Content-Type', this.metrics.contentType);
      response.end(text);
      return;
    }
    const reason = path === '/health/ready' ? this.readiness.reason : undefined;
    if (reason === undefined) sendJson(response, 200, { status: 'ok' });
    else sendJson(response, 503, { status: 'unavailable', reason });
  }
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response.setHeader('Content-Type', 'application/json');
  response.writeHead(status).end(JSON.stringify(value));
}
