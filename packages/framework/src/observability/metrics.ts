import { isDeepStrictEqual } from 'node:util';
import { performance } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { snakeCase } from '../config/identity.js';
import type { Identity } from '../config/identity.js';

type Labels = Readonly<Record<string, string>>;

/**
 * The metrics of the management port. Inject it to add metrics of a service's own, in a constructor: a name that is not valid, or
 * that another metric has, ends the start.
 *
 * @example
 * private readonly countBooking;
 *
 * constructor(metrics: Metrics) {
 *   this.countBooking = metrics.counter('bookings_total', 'Bookings.', 'status', ['made', 'cancelled']);
 * }
 *
 * this.countBooking('made');
 */
export class Metrics {
  /** For metrics that the methods cannot make: `new Summary({ …, registers: [metrics.registry] })` of prom-client. */
  readonly registry = new Registry();

  private readonly gauges = new Map<string, (readonly [labels: Labels, read: () => number])[]>();

  /** Counts error responses by their number, or starts the series of a number. */
  readonly recordError: (error: number, by?: number) => void;

  // Names follow the OpenTelemetry semantic conventions where these define a name.
  constructor(private readonly identity: Identity) {
    this.recordError = this.counter<number>(
      this.named('refusals_total'),
      'Error responses, by error number.',
      'error',
      [],
    );
    const { version, revision } = identity.build;
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    new Gauge({
      name: this.named('build_info'),
      help: 'Version of the running service. Always 1.',
      labelNames: ['version', 'revision', 'node_version'],
      registers,
    }).set({ version, revision, node_version: process.versions.node }, 1);
    // A counter works with any number of scrapers, unlike the delay of the event loop.
    new Counter({
      name: 'nodejs_eventloop_time_seconds_total',
      help: 'Time that the event loop has spent in each state.',
      labelNames: ['nodejs_eventloop_state'],
      registers,
      collect() {
        const { active, idle } = performance.eventLoopUtilization();
        this.reset();
        this.inc({ nodejs_eventloop_state: 'active' }, active / 1_000);
        this.inc({ nodejs_eventloop_state: 'idle' }, idle / 1_000);
      },
    });
  }

  /** A name with the prefix of this service, such as `tool_library_refusals_total`. */
  named(name: string): string {
    return `${snakeCase(this.identity)}_${name}`;
  }

  /**
   * Adds a counter.
   *
   * @returns increments it by one, or `by`
   */
  counter(name: string, help: string): (by?: number) => void;
  /**
   * Adds a counter with a series for each value of its label, which starts at zero, because a rate does not count the first
   * increment of a new series.
   *
   * @returns increments a series by one, or `by`
   */
  counter<Value extends string | number>(
    name: string,
    help: string,
    label: string,
    values: readonly Value[],
  ): (value: Value, by?: number) => void;
  counter<Value extends string | number>(
    name: string,
    help: string,
    label?: string,
    values: readonly Value[] = [],
  ) {
    const labelNames = label === undefined ? [] : [label];
    const options = { name, help, labelNames, registers: [this.registry] };
    const counter = registered(name, () => new Counter(options));
    if (label === undefined) return (by?: number) => counter.inc(by);
    for (const value of values) counter.inc({ [label]: value }, 0);
    return (value: Value, by?: number) => counter.inc({ [label]: value }, by);
  }

  /**
   * Adds a histogram, whose buckets have these upper bounds.
   *
   * @returns adds a value, such as a number of seconds
   */
  histogram(name: string, help: string, buckets: readonly number[]): (amount: number) => void;
  /**
   * Adds a histogram with a series for each value of its label.
   *
   * @returns adds a value to a series
   */
  histogram<Value extends string | number>(
    name: string,
    help: string,
    buckets: readonly number[],
    label: string,
    values: readonly Value[],
  ): (value: Value, amount: number) => void;
  histogram<Value extends string | number>(
    name: string,
    help: string,
    buckets: readonly number[],
    label?: string,
    values: readonly Value[] = [],
  ) {
    const labelNames = label === undefined ? [] : [label];
    const options = { name, help, labelNames, buckets: [...buckets], registers: [this.registry] };
    const histogram = registered(name, () => new Histogram(options));
    if (label === undefined) return (amount: number) => histogram.observe(amount);
    for (const value of values) histogram.zero({ [label]: value });
    return (value: Value, amount: number) => histogram.observe({ [label]: value }, amount);
  }

  /**
   * Adds a gauge, or a series to one. All series of a gauge have the same labels.
   *
   * @param read called for each scrape
   * @example
   * metrics.gauge('bookings_open', 'Bookings that are open.', () => this.open.size);
   */
  gauge(name: string, help: string, read: () => number, labels: Labels = {}): void {
    const series = this.gauges.get(name) ?? [];
    if (series.some(([others]) => isDeepStrictEqual(others, labels))) {
      throw new TypeError(`${name} has the series ${JSON.stringify(labels)} already`);
    }
    series.push([labels, read]);
    if (series.length > 1) return;
    this.gauges.set(name, series);
    const options = { name, help, labelNames: Object.keys(labels), registers: [this.registry] };
    const collect = function (this: Gauge): void {
      for (const [one, value] of series) this.set(one, value());
    };
    registered(name, () => new Gauge({ ...options, collect }));
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}

/** Makes a metric. The errors of prom-client do not name it. */
function registered<Metric>(name: string, make: () => Metric): Metric {
  try {
    return make();
  } catch (cause) {
    const { message } = cause as Error;
    throw new TypeError(`the metric ${JSON.stringify(name)}: ${message}`, { cause });
  }
}
