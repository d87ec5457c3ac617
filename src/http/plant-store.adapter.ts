import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import type { Express, Request, Response } from 'express';
import type { Observability } from '../observability/observability.module.js';
import { unroutable } from './allowed-methods.js';
import { stringifyExactJson } from './exact-json.js';
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

  /** Answers with what a handler returned: JSON of objects, all else as Express and Nest do. */
  override reply(response: Response, body: unknown, status = response.statusCode): void {
    if (body instanceof StreamableFile) {
      // Nest would answer `Bad Request` as plain text. The filter breaks off an answer that has begun.
      body.setErrorHandler((error) => {
        if (!response.headersSent) response.removeHeader('Content-Disposition');
        response.req.next?.(error);
      });
    } else if (typeof body === 'object' && body !== null) {
      if (!response.hasHeader('Content-Type')) return sendJson(response, status, body);
      response.status(status).end(stringifyExactJson(body));
      return;
    }
    super.reply(response, body, status);
  }

  /** Not by Nest's NotFoundException, which a handler may throw, too. */
  override setNotFoundHandler(): void {
    this.use((request: Request) => {
      throw unroutable(request);
    });
  }

  /** Failures of Express reach the filter as they are: what they tell is for the log. */
  override mapException(error: unknown): unknown {
    return error;
  }
}
