import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import type { Express, Response } from 'express';
import type { Observability } from '../observability/observability.module.js';
import { createHttpServer } from './http-server.js';
import type { HttpLimits } from './limits.js';
import { sendJson } from './send-json.js';

/** Express under Nest, on an HTTP server of our own, with exact JSON. */
export class PlantStoreAdapter extends ExpressAdapter {
  constructor(
    private readonly limits: HttpLimits,
    private readonly observability: Observability,
  ) {
    // Routing reads these settings once, when the adapter takes the application over.
    super(
      express()
        .enable('strict routing')
        .enable('case sensitive routing')
        .disable('x-powered-by')
        .disable('etag')
        .set('query parser', 'simple'),
    );
  }

  override initHttpServer(): void {
    this.httpServer = createHttpServer(
      this.getInstance<Express>(),
      this.limits,
      this.observability,
    );
  }

  override reply(response: Response, body: unknown, status?: number): void {
    sendJson(response, status ?? response.statusCode, body);
  }
}
