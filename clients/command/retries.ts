import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError, EXIT, TemporaryFailure } from './command-error.js';

/** In milliseconds. */
export interface Limits {
  /** Longest time of a request without a byte sent or received. */
  readonly idle: number;
  /** First and longest pause between attempts. */
  readonly firstPause: number;
  readonly longestPause: number;
  /** Longest time without any success. */
  readonly patience: number;
}

export const LIMITS: Limits = {
  // As long as nginx waits for an answer by default.
  idle: 60_000,
  firstPause: 200,
  longestPause: 10_000,
  patience: 120_000,
};

const ANNOUNCEMENT_INTERVAL = 10_000;

/** Repeats what fails temporarily, until nothing has succeeded for a while. */
export class Retries {
  /** How many attempts have failed. */
  failures = 0;
  private lastSuccess = -Infinity;
  private lastAnnouncement = -Infinity;

  /** @param announce is called with a failure, at most every 10 seconds */
  constructor(
    private readonly signal: AbortSignal,
    private readonly announce: (message: string) => void,
    private readonly limits: Limits,
  ) {}

  /** Repeats an attempt until it succeeds. Throws what `failed` throws. */
  async run<T>(attempt: () => Promise<T>): Promise<T> {
    const attempts = this.begin();
    for (;;) {
      try {
        const result = await attempt();
        attempts.succeeded();
        return result;
      } catch (error) {
        await attempts.failed(error);
      }
    }
  }

  /** The attempts of one request. */
  begin() {
    const start = performance.now();
    let failures = 0;
    return {
      succeeded: () => {
        failures = 0;
        this.lastSuccess = performance.now();
      },
      /**
       * Waits before the next attempt.
       *
       * @throws CommandError when no request has succeeded for too long; the error itself unless it is temporary
       */
      failed: async (error: unknown) => {
        this.signal.throwIfAborted();
        if (!(error instanceof TemporaryFailure)) throw error;
        const wait = Math.max(error.retryAfter, this.backoff(failures));
        failures += 1;
        this.note(error, Math.max(start, this.lastSuccess), wait);
        await sleep(wait, undefined, { signal: this.signal });
      },
    };
  }

  /** With jitter, because clients that failed together should not come back together. */
  private backoff(failures: number): number {
    const { firstPause, longestPause } = this.limits;
    return Math.min(firstPause * 2 ** failures, longestPause) * (0.5 + Math.random() / 2);
  }

  private note({ message, retryAfter }: TemporaryFailure, since: number, wait: number): void {
    this.failures += 1;
    const { patience } = this.limits;
    const now = performance.now();
    if (now + wait > since + patience) {
      const reason =
        retryAfter > patience
          ? `, because it asks to wait for ${inSeconds(retryAfter)}`
          : ` after ${inSeconds(patience)} without success`;
      throw new CommandError(EXIT.incomplete, `${message}; gave up${reason}`);
    }
    if (now - this.lastAnnouncement < ANNOUNCEMENT_INTERVAL) return;
    this.lastAnnouncement = now;
    this.announce(`plant-store: ${message}; trying again`);
  }
}

function inSeconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 1_000)} seconds`;
}
