import { LRUCache } from 'lru-cache';

/** In seconds. */
const WINDOW = 60;

/** Most keys. A flood of more replaces the records of those that came least recently. */
const MAX_KEYS = 10_000;

/** How much a key has used of its quota. */
export interface RateUsage {
  /** Requests per window. */
  readonly quota: number;
  /** In seconds. */
  readonly window: number;
  readonly remaining: number;
  /** Seconds until the window of the key ends, rounded up. */
  readonly reset: number;
  readonly isExceeded: boolean;
}

/**
 * Permits each key a number of requests per minute. The minute of a key begins with its first request.
 *
 * Libraries for Node.js keep every key until its window ends, so that a flood of keys fills the memory, and count by the
 * wall clock: `rate-limiter-flexible` needs 45 MB and 100,000 timers for 100,000 keys.
 */
export class RateLimit {
  private readonly windows = new LRUCache<string, { readonly end: number; used: number }>({
    max: MAX_KEYS,
  });

  /** @param now in milliseconds, from a clock that nobody adjusts */
  constructor(
    private readonly quota: number,
    private readonly now = () => performance.now(),
  ) {}

  /** Counts a request. */
  count(key: string): RateUsage {
    // Whole milliseconds, because a sum of fractions is inexact: the reset of a new window could be 61 seconds.
    const now = Math.floor(this.now());
    let window = this.windows.get(key);
    if (window === undefined || window.end <= now) {
      window = { end: now + WINDOW * 1_000, used: 0 };
      this.windows.set(key, window);
    }
    window.used += 1;
    return {
      quota: this.quota,
      window: WINDOW,
      remaining: Math.max(0, this.quota - window.used),
      reset: Math.ceil((window.end - now) / 1_000),
      isExceeded: window.used > this.quota,
    };
  }

  /** How many keys it keeps. */
  get size(): number {
    return this.windows.size;
  }
}
