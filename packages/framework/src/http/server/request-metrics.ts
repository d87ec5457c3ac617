import { Histogram } from 'prom-client';
import type { Metrics } from '../../observability/metrics.js';
import { knownMethod } from '../../observability/request-method.js';

export interface EndedRequest {
  readonly method: string;
  readonly scheme: 'http' | 'https';
  readonly route: string | undefined;
  /** `undefined` if the client disconnected before the response. */
  readonly status: number | undefined;
  readonly seconds: number;
}

/** `failed`: a 5xx response, or a response that broke off. */
const OUTCOMES = ['answered', 'failed', 'abandoned'] as const;

export function requestMetrics(metrics: Metrics): (request: EndedRequest) => void {
  const count = metrics.counter(
    metrics.named('requests_total'),
    'HTTP requests, by outcome.',
    'outcome',
    OUTCOMES,
  );
  const duration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of HTTP server requests.',
    labelNames: [
      'http_request_method',
      'url_scheme',
      'http_response_status_code',
      'http_route',
      'error_type',
    ],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    registers: [metrics.registry],
  });
  return ({ method, scheme, route = '', status, seconds }) => {
    const hasFailed = status !== undefined && status >= 500;
    count(status === undefined ? 'abandoned' : hasFailed ? 'failed' : 'answered');
    duration.observe(
      {
        http_request_method: knownMethod(method),
        url_scheme: scheme,
        http_response_status_code: status ?? '',
        http_route: route,
        error_type: status === undefined ? 'client_gone' : hasFailed ? String(status) : '',
      },
      seconds,
    );
  };
}
