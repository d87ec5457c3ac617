import { setTimeout as sleep } from 'node:timers/promises';

/** Between two probes during an outage, in milliseconds. */
const PROBE_INTERVAL = 250;

export interface OutageHandler {
  /** Resolves if the database answers. Must have a timeout. */
  probe(): Promise<void>;
  began(reason: unknown): void;
  ended(): void;
}

/** Detects outages, so that requests fail fast, and probes the database until an outage ends. */
export class Outage {
  private since: number | undefined;
  private watching = false;
  private closed = false;

  /** The failure of the last probe or request. */
  reason: unknown;

  constructor(private readonly handler: OutageHandler) {}

  get isKnown(): boolean {
    return this.since !== undefined;
  }

  /** Whether the outage has lasted at least this long. */
  isKnownFor(milliseconds: number): boolean {
    return this.since !== undefined && performance.now() - this.since >= milliseconds;
  }

  /**
   * Reports a failed connection. A probe finds out whether the database is unavailable.
   *
   * @param isTimeout begins the outage without a probe
   */
  suspect(reason: unknown, isTimeout: boolean): void {
    if (isTimeout) this.begin(reason);
    if (this.watching) return;
    this.watching = true;
    void this.watch();
  }

  close(): void {
    this.closed = true;
  }

  private begin(reason: unknown): void {
    this.reason = reason;
    if (this.since !== undefined) return;
    this.since = performance.now();
    this.handler.began(reason);
  }

  private async watch(): Promise<void> {
    while (!this.closed) {
      try {
        await this.handler.probe();
        break;
      } catch (error) {
        if (this.closed) return;
        this.begin(error);
        await sleep(PROBE_INTERVAL, undefined, { ref: false });
      }
    }
    if (this.isKnown && !this.closed) this.handler.ended();
    this.since = undefined;
    this.watching = false;
  }
}
