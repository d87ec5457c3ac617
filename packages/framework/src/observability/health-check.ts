import type { Logger } from 'pino';
import { unlessAborted } from '../bounds/waits.js';
import { describeError } from './describe-error.js';

/** A result is used for this time, in milliseconds. */
export const CHECK_INTERVAL = 2_000;

export interface CheckState {
  readonly status: 'ok' | 'unavailable';
  readonly reason?: string;
}

/** A check of a service's own, with the result of its last run. */
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
