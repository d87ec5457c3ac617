import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface RequestMeasurement {
  /** One that Node's parser knows, so of bounded number. */
  readonly method: string;
  readonly route: string | undefined;
  /** Absent when the client left before it was answered. */
  readonly status: number | undefined;
  readonly seconds: number;
}

export interface PoolUse {
  readonly used: number;
  readonly idle: number;
  readonly pending: number;
}

/** Prometheus metrics, named by the OpenTelemetry semantic conventions for HTTP and databases. */
@Injectable()
export class Metrics {
  private readonly registry = new Registry();

  private readonly requestDuration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of HTTP server requests.',
    labelNames: ['http_request_method', 'http_response_status_code', 'http_route', 'error_type'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  recordRequest({ method, route, status, seconds }: RequestMeasurement): void {
    this.requestDuration.observe(
      {
        http_request_method: method,
        http_response_status_code: status ?? '',
        http_route: route ?? '',
        error_type: errorType(status),
      },
      seconds,
    );
  }

  /** Shows the use of the connection pool, asked for whenever the metrics are. */
  observePool(use: () => PoolUse): void {
    new Gauge({
      name: 'db_client_connection_count',
      help: 'Connections of the pool, by state.',
      labelNames: ['db_client_connection_state'],
      registers: [this.registry],
      collect() {
        const { used, idle } = use();
        this.set({ db_client_connection_state: 'used' }, used);
        this.set({ db_client_connection_state: 'idle' }, idle);
      },
    });
    new Gauge({
      name: 'db_client_connection_pending_requests',
      help: 'Requests that wait for a connection of the pool.',
      registers: [this.registry],
      collect() {
        this.set(use().pending);
      },
    });
  }

  /** Shows how many plants wait to be created, asked for whenever the metrics are. */
  observeWaitingCreations(waiting: () => number): void {
    new Gauge({
      name: 'plant_store_creations_waiting',
      help: 'Plants that wait for the next group to be committed.',
      registers: [this.registry],
      collect() {
        this.set(waiting());
      },
    });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}

function errorType(status: number | undefined): string {
  if (status === undefined) return 'client_gone';
  return status >= 500 ? String(status) : '';
}
