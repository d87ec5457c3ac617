import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { Metrics } from '../observability/metrics.js';
import type { Principal } from './principal.js';
import { ERRORS } from '../errors/common-errors.js';
import { ServiceException } from '../errors/service.exception.js';

/** In seconds. */
const WINDOW = 60;

/** Further principals replace the least recent ones. */
export const MAX_PRINCIPALS = 10_000;

/**
 * Permits each principal a number of requests per minute, which begins with its first request. Each replica counts
 * for itself.
 *
 * Libraries for Node.js keep every key until its window ends, so that a flood of keys fills the memory, and count by
 * the wall clock: `rate-limiter-flexible` needs 45 MB and 100,000 timers for 100,000 keys.
 */
@Injectable()
export class RateLimits {
  private readonly quota: number;
  private readonly windows = new LRUCache<string, { readonly end: number; used: number }>({
    max: MAX_PRINCIPALS,
  });
  private readonly recordExceeded: (limit: typeof RATE_LIMIT) => void;

  constructor(@Inject(CONFIG) { rateLimits }: Pick<Config, 'rateLimits'>, metrics: Metrics) {
    this.quota = rateLimits.perPrincipal;
    this.recordExceeded = metrics.counter(
      metrics.named('rate_limited_total'),
      'Requests that were rejected because of a rate limit.',
      'limit',
      [RATE_LIMIT],
    );
  }

  /**
   * @returns `undefined` without a limit
   * @throws RateLimitedError
   */
  countRequest({ kind, id }: Principal): RateUsage | undefined {
    const { quota, windows } = this;
    if (quota === 0) return undefined;
    const key = `${kind} ${id}`;
    // Whole milliseconds, because a sum of fractions is inexact: the reset of a new window could be 61 seconds.
    const now = Math.floor(performance.now());
    let window = windows.get(key);
    if (window === undefined || window.end <= now) {
      window = { end: now + WINDOW * 1_000, used: 0 };
      windows.set(key, window);
    }
    window.used += 1;
    const remaining = Math.max(0, quota - window.used);
    const reset = Math.ceil((window.end - now) / 1_000);
    const usage = { quota, window: WINDOW, remaining, reset };
    if (window.used <= quota) return usage;
    this.recordExceeded(RATE_LIMIT);
    throw new RateLimitedError(usage);
  }
}

/** Clients and metrics see this name. */
export const RATE_LIMIT = 'principal';

export interface RateUsage {
  /** Requests per window. */
  readonly quota: number;
  /** In seconds. */
  readonly window: number;
  readonly remaining: number;
  /** Seconds until the window of the principal ends, rounded up. */
  readonly reset: number;
}

export class RateLimitedError extends ServiceException {
  constructor(readonly usage: RateUsage) {
    const { quota, window } = usage;
    const message = `the owner of the token has sent more than ${quota} requests in ${window} seconds`;
    const headers = { 'Retry-After': String(usage.reset), ...rateLimitFields(usage) };
    super(ERRORS.rateLimited, message, { headers });
  }
}

/** Structured fields (RFC 9651), as draft-ietf-httpapi-ratelimit-headers-11 defines them. */
export function rateLimitFields({ quota, window, remaining, reset }: RateUsage) {
  return {
    'RateLimit-Policy': `"${RATE_LIMIT}";q=${quota};w=${window}`,
    RateLimit: `"${RATE_LIMIT}";r=${remaining};t=${reset}`,
  };
}
