import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { statusOf } from '../../errors/error-kind.js';
import { clientAddress } from '../../observability/client-address.js';
import { isSent } from '../../observability/is-sent.js';
import type { Metrics } from '../../observability/metrics.js';
import { callerTrace } from '../../observability/trace-context.js';
import { requestMetrics } from './request-metrics.js';

/**
 * Writes one log line and one measurement for each request, without path, query and headers, which can contain secrets. Trace
 * ids consist of hexadecimal digits.
 */
export function requestLog(log: Logger, metrics: Metrics) {
  const measure = requestMetrics(metrics);
  return (request: Request, response: Response): void => {
    const start = performance.now();
    // Read now, because a closed socket has no address.
    const client = clientAddress(request);
    // Behind a proxy only: the service itself speaks plain HTTP.
    const isSecure = request.headers['x-forwarded-proto'] !== undefined && request.secure;
    response.once('close', () => {
      const sent = isSent(response);
      const seconds = (performance.now() - start) / 1_000;
      // Set by Express if a route matches.
      const path: unknown = request.route?.path;
      const route = typeof path === 'string' ? path : undefined;
      const { method, principal, credentialsErrorReason } = request;
      const { isBroken = false } = response;
      const status = sent
        ? response.statusCode
        : isBroken
          ? statusOf(response.error ?? 50000)
          : undefined;
      const scheme = isSecure ? 'https' : 'http';
      measure({ method, scheme, route, status, seconds });
      const trace = request.span ?? callerTrace(request);
      // Object spread takes 6 µs here. Pino omits undefined fields.
      log.info(
        {
          requestId: request.id,
          traceId: trace?.traceId,
          spanId: trace?.spanId,
          method,
          route,
          status,
          error: sent || isBroken ? response.error : undefined,
          durationMs: Math.round(seconds * 1e6) / 1e3,
          client,
          principalKind: principal?.kind,
          principalId: principal?.id,
          refusal: credentialsErrorReason,
        },
        sent ? 'request' : isBroken ? 'response interrupted' : 'request abandoned by the client',
      );
    });
  };
}
