import { setTimeout as sleep } from 'node:timers/promises';

/** Between two looks at a database that is away, in milliseconds. */
const RETRY = 250;

/** What happens around an outage. */
export interface OutageHandler {
  /** Resolves when the database answers, in bounded time. */
  probe(): Promise<void>;
  began(reason: unknown): void;
  ended(): void;
}

/**
 * Knows whether the database is away, so that one caller has to find out, and not each for itself.
 * Looks after it until it is back.
 */
export class Outage {
  private since: number | undefined;
  private watching = false;
  private closed = false;

  /** Why the database was away when it was last looked at. */
  reason: unknown;

  constructor(private readonly handler: OutageHandler) {}

  get isKnown(): boolean {
    return this.since !== undefined;
  }

  /** Whether the database has been known to be away for so many milliseconds. */
  isKnownFor(milliseconds: number): boolean {
    return this.since !== undefined && performance.now() - this.since >= milliseconds;
  }

  /**
   * To be told of a connection that failed. It may be the only one: the database itself is asked.
   *
   * @param waited whether that took as long as the database may take to answer, so that it is away
   */
  suspect(reason: unknown, waited: boolean): void {
    if (waited) this.begin(reason);
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
        await sleep(RETRY, undefined, { ref: false });
      }
    }
    if (this.isKnown && !this.closed) this.handler.ended();
    this.since = undefined;
    this.watching = false;
  }
}
