import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { isAnswered } from '../observability/is-answered.js';
import type { Metrics } from '../observability/metrics.js';
import { callerTrace } from '../observability/trace-context.js';

declare global {
  namespace Express {
    interface Response {
      /** The number of the Error that it carries. */
      error?: number;
    }
  }
}

/**
 * One line and one measurement for each request. Neither holds a path, a query or a header: they can hold
 * secrets. Only the ids of a trace are taken out of one, which are digits.
 */
export function requestLog(log: Logger, metrics: Metrics) {
  return (request: Request, response: Response): void => {
    const start = performance.now();
    // The socket knows neither any more when the client has left.
    const client = request.ip;
    // Only a proxy makes it another one.
    const isSecure = request.headers['x-forwarded-proto'] !== undefined && request.secure;
    response.once('close', () => {
      const answered = isAnswered(response);
      const seconds = (performance.now() - start) / 1_000;
      // Set by Express; a request that no route took has none.
      const path: unknown = request.route?.path;
      const route = typeof path === 'string' ? path : undefined;
      const { method } = request;
      const status = answered ? response.statusCode : undefined;
      const scheme = isSecure ? 'https' : 'http';
      metrics.recordRequest({ method, scheme, route, status, seconds });
      const trace = request.span ?? callerTrace(request);
      // Without object spread, which took 6 µs here. Pino leaves out what is undefined.
      log.info(
        {
          requestId: request.id,
          traceId: trace?.traceId,
          spanId: trace?.spanId,
          method,
          route,
          status,
          error: answered ? response.error : undefined,
          durationMs: Math.round(seconds * 1e6) / 1e3,
          client,
        },
        answered ? 'request' : 'request abandoned by the client',
      );
    });
  };
}
