import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { Metrics } from '../observability/metrics.js';
import type { Principal } from './principal.js';
import { RateLimit } from './rate-limit.js';
import type { RateUsage } from './rate-limit.js';
import { RATE_LIMIT, RateLimitedError } from './rate-limited.error.js';

/** The limits of this process. Other replicas count for themselves. */
@Injectable()
export class RateLimits {
  private readonly ofPrincipals: RateLimit | undefined;
  private readonly recordExceeded: (limit: typeof RATE_LIMIT) => void;

  constructor(@Inject(CONFIG) { rateLimits }: Pick<Config, 'rateLimits'>, metrics: Metrics) {
    this.recordExceeded = metrics.counter(
      'plant_store_rate_limited_total',
      'Requests that were refused because of a rate limit.',
      'limit',
      [RATE_LIMIT],
    );
    const { perPrincipal } = rateLimits;
    this.ofPrincipals = perPrincipal === 0 ? undefined : new RateLimit(perPrincipal);
  }

  /**
   * Counts a request of a principal.
   *
   * @returns `undefined` without a limit
   * @throws RateLimitedError
   */
  countRequest({ kind, id }: Principal): RateUsage | undefined {
    const usage = this.ofPrincipals?.count(`${kind} ${id}`);
    if (usage?.isExceeded !== true) return usage;
    this.recordExceeded(RATE_LIMIT);
    throw new RateLimitedError(usage);
  }
}
