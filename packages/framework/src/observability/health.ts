import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { waitAtMost, unlessAborted } from '../bounds/waits.js';
import { LOGGER } from './logger.js';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';
import { describeError } from './describe-error.js';

/** How long a probe waits for checks, in milliseconds: less than the timeout of a usual probe, which is 1 s. */
export const MAX_PROBE_WAIT = 500;

/** In milliseconds. */
const MAX_TIMEOUT = 60_000;

/**
 * Options of {@link Health.add}.
 *
 * @example health.add('scanner', (signal) => this.scanner.ping(signal), { timeout: 500, affects: 'ready' });
 */
export interface HealthCheckOptions {
  /** In milliseconds, at most 60,000; 1,000 by default. */
  readonly timeout?: number;
  /**
   * `ready`: while the check fails, the replica gets no requests. Only for what a replica has for itself: a server on which all
   * replicas depend would end all of them at once. By default, the result is only reported.
   */
  readonly affects?: 'ready';
}

export interface HealthState extends CheckState {
  readonly checks?: Readonly<Record<string, CheckState>>;
}

/**
 * The state at `/health/ready` of the management port. Inject it to add checks of a service's own, in a constructor.
 *
 * @example
 * constructor(health: Health, mailer: Mailer) {
 *   health.add('smtp', (signal) => mailer.check(signal), { timeout: 500 });
 * }
 */
@Injectable()
export class Health {
  private readonly checks = new Map<string, HealthCheck>();

  constructor(
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly log: Logger,
  ) {}

  /**
   * Adds a check, which fails if it throws, rejects or does not end in time. Its result is in the response of `/health/ready`, in
   * the metric `…_health_check_up` and, when it changes, in the log. It runs at most once in two seconds, however many ask.
   *
   * @param name such as `smtp`
   * @param check gets a signal that aborts at the timeout. It must end then: the next run does not wait for it
   * @throws TypeError for a name or a timeout that is not valid, or a name that another check has
   */
  add(
    name: string,
    check: (signal: AbortSignal) => unknown,
    { timeout = 1_000, affects }: HealthCheckOptions = {},
  ): void {
    if (!/^[a-z][a-z0-9_-]*$/.test(name)) {
      throw new TypeError(`the health check ${JSON.stringify(name)} has no name such as smtp`);
    }
    if (!Number.isInteger(timeout) || timeout < 1 || timeout > MAX_TIMEOUT) {
      throw new TypeError(`the timeout of the health check ${name} is not 1 to ${MAX_TIMEOUT} ms`);
    }
    if (this.checks.has(name)) throw new TypeError(`there are two health checks ${name}`);
    const added = new HealthCheck(name, check, timeout, affects, this.log);
    this.checks.set(name, added);
    this.metrics.gauge(
      this.metrics.named('health_check_up'),
      'Whether the last run of a health check succeeded.',
      () => {
        // For the next scrape. Hooks of modules must come first.
        if (this.readiness.reason === undefined) void added.run();
        return added.isUp;
      },
      { check: name },
    );
  }

  /** After a bounded wait for the checks. Those that take longer have the state of their last run. */
  async state(): Promise<HealthState> {
    const { reason } = this.readiness;
    if (reason !== undefined) return { status: 'unavailable', reason };
    if (this.checks.size === 0) return { status: 'ok' };
    const all = [...this.checks.values()];
    await waitAtMost(MAX_PROBE_WAIT, Promise.all(all.map((check) => check.run())));
    const checks = Object.fromEntries(all.map(({ name, state }) => [name, state]));
    const failed = all.find(({ affects, state }) => affects === 'ready' && state.status !== 'ok');
    if (failed === undefined) return { status: 'ok', checks };
    return { status: 'unavailable', reason: `${failed.name}: ${failed.state.reason}`, checks };
  }
}

/** A result is used for this time, in milliseconds. */
export const CHECK_INTERVAL = 2_000;

export interface CheckState {
  readonly status: 'ok' | 'unavailable';
  readonly reason?: string;
}

export class HealthCheck {
  state: CheckState = { status: 'unavailable', reason: 'not checked yet' };
  /** For the metric: 1 or 0, or NaN before the first run. */
  isUp = NaN;
  private running: Promise<void> | undefined;
  private endedAt = -Infinity;

  constructor(
    readonly name: string,
    private readonly check: (signal: AbortSignal) => unknown,
    private readonly timeout: number,
    readonly affects: 'ready' | undefined,
    private readonly log: Logger,
  ) {}

  /** Concurrent callers share a run. Never rejects. */
  run(): Promise<void> {
    if (this.running !== undefined) return this.running;
    if (performance.now() - this.endedAt < CHECK_INTERVAL) return Promise.resolve();
    return (this.running = this.perform());
  }

  private async perform(): Promise<void> {
    this.note(await this.reasonToFail());
    this.endedAt = performance.now();
    this.running = undefined;
  }

  private async reasonToFail(): Promise<string | undefined> {
    const signal = AbortSignal.timeout(this.timeout);
    try {
      // Also if it throws at once.
      await unlessAborted(signal, Promise.resolve(signal).then(this.check));
      return undefined;
    } catch (error) {
      return signal.aborted ? `no result after ${this.timeout} ms` : describeError(error);
    }
  }

  /** Logs a change only: probes are frequent. */
  private note(reason: string | undefined): void {
    const { name: check, isUp } = this;
    this.state = reason === undefined ? { status: 'ok' } : { status: 'unavailable', reason };
    this.isUp = Number(reason === undefined);
    if (reason !== undefined && isUp !== 0)
      this.log.warn({ check, reason }, 'a health check fails');
    if (reason === undefined && isUp === 0)
      this.log.info({ check }, 'a health check succeeds again');
  }
}
