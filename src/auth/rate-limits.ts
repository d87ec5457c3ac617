import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { Metrics } from '../observability/metrics.js';
import { clientNetwork } from './client-network.js';
import type { Principal } from './principal.js';
import { RATE_LIMITS, RateLimit } from './rate-limit.js';
import type { RateLimitName, RateUsage } from './rate-limit.js';
import { RateLimitedError } from './rate-limited.error.js';

/** The limits of this process. Other replicas count for themselves. */
@Injectable()
export class RateLimits {
  private readonly ofPrincipals: RateLimit | undefined;
  private readonly ofFailures: RateLimit | undefined;
  private readonly recordExceeded: (limit: RateLimitName) => void;

  constructor(@Inject(CONFIG) { rateLimits }: Pick<Config, 'rateLimits'>, metrics: Metrics) {
    this.recordExceeded = metrics.counter(
      'plant_store_rate_limited_total',
      'Requests that were refused because of a rate limit.',
      'limit',
      RATE_LIMITS,
    );
    this.ofPrincipals = limit('principal', rateLimits.perPrincipal);
    this.ofFailures = limit('failed-authentication', rateLimits.failedPerAddress);
  }

  /**
   * Counts a request of a principal.
   *
   * @returns `undefined` without a limit
   * @throws RateLimitedError
   */
  countRequest({ kind, id }: Principal): RateUsage | undefined {
    return this.ofPrincipals && this.permit(this.ofPrincipals.count(`${kind} ${id}`));
  }

  /**
   * Counts a request whose credentials are not valid.
   *
   * @param address of the client, if its connection is still open
   * @throws RateLimitedError
   */
  countFailure(address: string | undefined): void {
    if (this.ofFailures) this.permit(this.ofFailures.count(clientNetwork(address)));
  }

  private permit(usage: RateUsage): RateUsage {
    if (!usage.isExceeded) return usage;
    this.recordExceeded(usage.limit);
    throw new RateLimitedError(usage);
  }
}

function limit(name: RateLimitName, quota: number): RateLimit | undefined {
  return quota === 0 ? undefined : new RateLimit(name, quota);
}
