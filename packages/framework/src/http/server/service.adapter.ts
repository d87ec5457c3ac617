import { randomUUID } from 'node:crypto';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import type { Express, Request, Response } from 'express';
import type { Observability } from '../../observability/observability.module.js';
import { ServedRequests } from '../../observability/served-requests.js';
import { preferLiteralPaths, unroutable } from './allowed-methods.js';
import { stringifyExactJson } from '../../json/exact-json.js';
import type { Port } from './connection.js';
import { expressClasses } from './express-classes.js';
import { HttpServer } from './http-server.js';
import type { ServerLimits } from './limits.js';
import { LinesFile } from '../body/ndjson.js';
import { parseQuery } from './parse-query.js';
import { REQUEST_ID_HEADER } from './request-id.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { EventStream } from '../responses/event-stream.js';
import { Page } from '../responses/page.js';
import { Representation } from '../responses/representation.js';
import { sendJson } from '../responses/send-json.js';

/** Nest's Express adapter with the service's own {@link HttpServer} and exact JSON. */
export class ServiceAdapter extends ExpressAdapter {
  constructor(
    private readonly limits: ServerLimits,
    private readonly observability: Observability,
    private readonly requests = new ServedRequests(),
  ) {
    // Express reads these settings only once, before Nest uses the application.
    super(
      express()
        .enable('strict routing')
        .enable('case sensitive routing')
        .disable('x-powered-by')
        .disable('etag')
        .set('query parser', parseQuery),
    );
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const { logger, metrics, tracer } = this.observability;
    const port: Port = {
      serve: (request, response) =>
        tracer.request(request, response, () =>
          this.requests.serve(request, () => app(request, response)),
        ),
      recordError: ({ status, body: { error } }) => {
        const requestId = randomUUID();
        logger.info({ requestId, status, error }, 'rejected');
        metrics.recordError(error);
        return { ...SECURITY_HEADERS, [REQUEST_ID_HEADER]: requestId };
      },
    };
    this.httpServer = new HttpServer(this.limits, port, expressClasses(app, this.limits));
  }

  /** Sends what a handler returned: objects as exact JSON, everything else as Nest does. */
  override reply(response: Response, body: unknown, status = response.statusCode): void {
    if (body instanceof Page || body instanceof Representation) return body.send(response, status);
    if (body instanceof EventStream) {
      body.send(response, status).catch((error: unknown) => response.req.next?.(error));
      return;
    }
    if (body instanceof StreamableFile) {
      response.endsInError = body instanceof LinesFile && body.endsInError;
      // Nest would send `Bad Request` in plain text. The filter sends an Error, or breaks a started response off.
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

  /** Throws 404 or 405. Nest would throw the NotFoundException of a handler that finds nothing. */
  override setNotFoundHandler(): void {
    preferLiteralPaths(this.getInstance());
    this.use((request: Request) => {
      // The last route that was tried is not the route of the request.
      request.route = undefined;
      throw unroutable(request);
    });
  }

  /** Passes errors of Express to the filter unchanged, because their messages are for the log only. */
  override mapException(error: unknown): unknown {
    return error;
  }
}
