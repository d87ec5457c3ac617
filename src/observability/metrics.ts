import { performance } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ErrorKind } from '../errors/error-kind.js';
import { BUILD } from './build.js';
import { knownMethod } from './request-method.js';

export interface RequestMeasurement {
  readonly method: string;
  readonly scheme: 'http' | 'https';
  readonly route: string | undefined;
  /** `undefined` if the client disconnected before the answer. */
  readonly status: number | undefined;
  readonly seconds: number;
}

export interface PoolUse {
  readonly used: number;
  readonly idle: number;
  readonly pending: number;
  readonly max: number;
}

/** The length of a queue, and its limits. */
export interface QueueUse {
  readonly rows: number;
  readonly maxRows: number;
  readonly characters: number;
  readonly maxCharacters: number;
}

/** The clients that follow changes. */
export interface FollowerUse {
  readonly followers: number;
  /** Of the newest change, until it was read, in seconds. */
  readonly lag: number;
}

/** Label of the pool's series. The process has a single pool. */
const POOL = { db_client_connection_pool_name: 'plant-store' } as const;

/** The labels that gauges can have. */
const GAUGE_LABELS = ['resource', 'db_client_connection_pool_name', 'db_client_connection_state'];

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** Outcomes of a request. `failed` means a 5xx answer, or an answer that failed after its beginning. */
const OUTCOMES = ['answered', 'failed', 'abandoned'] as const;

/** Prometheus metrics. Their names follow the OpenTelemetry semantic conventions where these define a name. */
export class Metrics {
  private readonly registry = new Registry();

  /** By resource. */
  private readonly queues = new Map<string, () => QueueUse>();

  /** By resource. */
  private readonly followers = new Map<string, () => FollowerUse>();

  private readonly requestDuration = new Histogram({
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
    registers: [this.registry],
  });

  private readonly requests = new Counter({
    name: 'plant_store_requests_total',
    help: 'HTTP requests, by outcome.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  private readonly groupRows = new Histogram({
    name: 'plant_store_creation_group_rows',
    help: 'Rows in a group that was sent to the database.',
    labelNames: ['resource'],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 500],
    registers: [this.registry],
  });

  private readonly refusals = new Counter({
    name: 'plant_store_refusals_total',
    help: 'Error answers, by error number.',
    labelNames: ['error'],
    registers: [this.registry],
  });

  private readonly prunedChanges = new Counter({
    name: 'plant_store_changes_pruned_total',
    help: 'Records of changes that were removed because of their age.',
    labelNames: ['table'],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    // Every series starts at zero: a rate would not count the first increment of a new series.
    for (const outcome of OUTCOMES) this.requests.inc({ outcome }, 0);
    new Gauge({
      name: 'plant_store_build_info',
      help: 'Version of the running service. Always 1.',
      labelNames: ['version', 'revision', 'node_version'],
      registers: [this.registry],
    }).set({ ...BUILD, node_version: process.versions.node }, 1);
    this.observeEventLoop();
    this.observeQueues();
    this.observeAllFollowers();
  }

  recordRequest({ method, scheme, route, status, seconds }: RequestMeasurement): void {
    this.requests.inc({ outcome: outcomeOf(status) });
    this.requestDuration.observe(
      {
        http_request_method: knownMethod(method),
        url_scheme: scheme,
        http_response_status_code: status ?? '',
        http_route: route ?? '',
        error_type: errorType(status),
      },
      seconds,
    );
  }

  /** Starts the series of these failures at zero. */
  expectErrors(kinds: readonly ErrorKind[]): void {
    for (const { number } of kinds) this.refusals.inc({ error: number }, 0);
  }

  /** Counts an Error answer. */
  recordRefusal(error: number): void {
    this.refusals.inc({ error });
  }

  /** Records the size of a group. */
  recordGroup(resource: string, rows: number): void {
    this.groupRows.observe({ resource }, rows);
  }

  /** Exposes the use of the connection pool. `use` is called at each scrape. */
  observePool(use: () => PoolUse): void {
    const name = 'db_client_connection';
    this.gauge(`${name}_count`, 'Connections of the pool, by state.', () => {
      const { used, idle } = use();
      return [
        [{ ...POOL, db_client_connection_state: 'used' }, used],
        [{ ...POOL, db_client_connection_state: 'idle' }, idle],
      ];
    });
    const pending = 'Requests that wait for a connection of the pool.';
    this.gauge(`${name}_pending_requests`, pending, () => [[POOL, use().pending]]);
    const max = 'Maximum number of connections of the pool.';
    this.gauge(`${name}_max`, max, () => [[POOL, use().max]]);
  }

  /** Exposes the creation queue of a resource. `queue` is called at each scrape. */
  observeCreationQueue(resource: string, queue: () => QueueUse): void {
    if (this.queues.has(resource)) throw new TypeError(`${resource} has a creation queue already`);
    this.queues.set(resource, queue);
    this.groupRows.zero({ resource });
  }

  private observeQueues(): void {
    const name = 'plant_store_creations_waiting';
    const gauges = [
      [name, 'Creates that wait for the next group.', 'rows'],
      [`${name}_max`, 'Most creates that may wait.', 'maxRows'],
      [`${name}_characters`, 'Characters of the creates that wait.', 'characters'],
      [`${name}_characters_max`, 'Most characters that may wait.', 'maxCharacters'],
    ] as const;
    for (const [gauge, help, use] of gauges) {
      this.gauge(gauge, help, () =>
        [...this.queues].map(([resource, queue]) => [{ resource }, queue()[use]]),
      );
    }
  }

  /** Exposes the followers of a resource. `use` is called at each scrape. */
  observeFollowers(resource: string, use: () => FollowerUse): void {
    this.followers.set(resource, use);
  }

  private observeAllFollowers(): void {
    const gauges = [
      ['followers', 'Clients that follow changes.', 'followers'],
      ['lag_seconds', 'Time from the begin of the newest change until followers got it.', 'lag'],
    ] as const;
    for (const [name, help, use] of gauges) {
      this.gauge(`plant_store_change_${name}`, help, () =>
        [...this.followers].map(([resource, followers]) => [{ resource }, followers()[use]]),
      );
    }
  }

  /** Counts records of changes that were removed because of their age. */
  recordPruned(table: string, records: number): void {
    this.prunedChanges.inc({ table }, records);
  }

  /** Exposes how busy the event loop is, as a counter: unlike its delay, it works with any number of scrapers. */
  private observeEventLoop(): void {
    new Counter({
      name: 'nodejs_eventloop_time_seconds_total',
      help: 'Time that the event loop has spent in each state.',
      labelNames: ['nodejs_eventloop_state'],
      registers: [this.registry],
      collect() {
        const { active, idle } = performance.eventLoopUtilization();
        this.reset();
        this.inc({ nodejs_eventloop_state: 'active' }, active / 1_000);
        this.inc({ nodejs_eventloop_state: 'idle' }, idle / 1_000);
      },
    });
  }

  /**
   * Adds a counter with a series for each of these values of its label. Each series starts at zero.
   *
   * @returns what counts one more
   */
  counter<Value extends string>(
    name: string,
    help: string,
    label: string,
    values: readonly Value[],
  ): (value: Value) => void {
    const counter = new Counter({ name, help, labelNames: [label], registers: [this.registry] });
    for (const value of values) counter.inc({ [label]: value }, 0);
    return (value) => counter.inc({ [label]: value });
  }

  /** @param read the values at a scrape, with their labels */
  gauge(name: string, help: string, read: () => readonly Sample[]): void {
    new Gauge({
      name,
      help,
      labelNames: GAUGE_LABELS,
      registers: [this.registry],
      collect() {
        for (const [labels, value] of read()) this.set(labels, value);
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

function outcomeOf(status: number | undefined): (typeof OUTCOMES)[number] {
  if (status === undefined) return 'abandoned';
  return status >= 500 ? 'failed' : 'answered';
}

function errorType(status: number | undefined): string {
  if (status === undefined) return 'client_gone';
  return status >= 500 ? String(status) : '';
}
