import { performance } from 'node:perf_hooks';
import type { EventLoopUtilization } from 'node:perf_hooks';

/** Between a failed probe and the next, in milliseconds. */
export const PROBE_INTERVAL = 250;

/**
 * After this many milliseconds, the next probe starts although the last one still waits for a response. A proxy can
 * hold a connection that it accepted while no server was up, and would respond to a new connection at once.
 */
export const PROBE_OVERLAP = 500;

const MAX_PROBES = 4;

interface Handler {
  /** Resolves if the database responds. Must have a timeout. */
  probe(signal: AbortSignal): Promise<void>;
  opened(reason: unknown): void;
  closed(): void;
}

/** Opens when the database is unavailable, so that requests fail fast, and probes the database until it can close. */
export class CircuitBreaker {
  private since: number | undefined;
  private probes: AbortController | undefined;
  private running = 0;
  private nextProbe: NodeJS.Timeout | undefined;
  private isStopped = false;

  reason: unknown;

  constructor(private readonly handler: Handler) {}

  get isOpen(): boolean {
    return this.since !== undefined;
  }

  isOpenFor(milliseconds: number): boolean {
    return this.since !== undefined && performance.now() - this.since >= milliseconds;
  }

  /** @param isTimeout opens it without a probe */
  suspect(reason: unknown, isTimeout: boolean): void {
    if (this.isStopped) return;
    if (isTimeout) this.open(reason);
    if (this.probes !== undefined) return;
    this.probes = new AbortController();
    void this.probe(this.probes.signal);
  }

  stop(): void {
    this.isStopped = true;
    this.stopProbing();
  }

  private open(reason: unknown): void {
    this.reason = reason;
    if (this.since !== undefined) return;
    this.since = performance.now();
    this.handler.opened(reason);
  }

  private close(): void {
    this.stopProbing();
    if (this.isOpen) this.handler.closed();
    this.since = undefined;
  }

  private stopProbing(): void {
    clearTimeout(this.nextProbe);
    this.probes?.abort();
    this.probes = undefined;
  }

  private async probe(signal: AbortSignal): Promise<void> {
    const next = this.schedule(PROBE_OVERLAP, signal);
    if (this.running === MAX_PROBES) return;
    this.running += 1;
    try {
      await this.handler.probe(signal);
      if (!signal.aborted) this.close();
    } catch (error) {
      if (signal.aborted) return;
      this.open(error);
      // Otherwise a newer probe already runs, and schedules the next.
      if (this.nextProbe === next) this.schedule(PROBE_INTERVAL, signal);
    } finally {
      this.running -= 1;
    }
  }

  private schedule(milliseconds: number, signal: AbortSignal): NodeJS.Timeout {
    clearTimeout(this.nextProbe);
    this.nextProbe = setTimeout(() => void this.probe(signal), milliseconds).unref();
    return this.nextProbe;
  }
}

/**
 * Whether a wait for a connection since then has timed out. A busy process notices the timeout before it reads a
 * response that has long arrived, so the timeout counts only if the event loop was idle for at least half of the
 * time.
 */
export function isTimedOut(start: EventLoopUtilization, timeout: number): boolean {
  const { idle, active } = performance.eventLoopUtilization(start);
  return idle + active >= timeout && idle >= active;
}
