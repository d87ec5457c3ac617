import { isDeepStrictEqual } from 'node:util';
import { performance } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { snakeCase } from '../config/identity.js';
import type { Identity } from '../config/identity.js';

type Labels = Readonly<Record<string, string>>;

/** Names follow the OpenTelemetry semantic conventions where these define a name. */
export class Metrics {
  /** For metrics other than a counter or gauge with one label. */
  readonly registry = new Registry();

  private readonly gauges = new Map<string, (readonly [labels: Labels, read: () => number])[]>();

  /** Counts error responses by their number, or starts the series of a number. */
  readonly recordError: (error: number, by?: number) => void;

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
  ): (value: Value, by?: number) => void {
    const counter = new Counter({ name, help, labelNames: [label], registers: [this.registry] });
    for (const value of values) counter.inc({ [label]: value }, 0);
    return (value, by) => counter.inc({ [label]: value }, by);
  }

  /** Adds a series to a gauge. All series of a gauge have the same labels. */
  gauge(name: string, help: string, read: () => number, labels: Labels = {}): void {
    const series = this.gauges.get(name) ?? [];
    if (series.some(([others]) => isDeepStrictEqual(others, labels))) {
      throw new TypeError(`${name} has the series ${JSON.stringify(labels)} already`);
    }
    series.push([labels, read]);
    if (series.length > 1) return;
    this.gauges.set(name, series);
    new Gauge({
      name,
      help,
      labelNames: Object.keys(labels),
      registers: [this.registry],
      collect() {
        for (const [one, value] of series) this.set(one, value());
      },
    });
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}
