import type { RateUsage } from './rate-limit.js';

/** Clients and metrics see this name. */
export const RATE_LIMIT = 'principal';

/**
 * The header fields of a rate limit: structured fields (RFC 9651), as draft-ietf-httpapi-ratelimit-headers-11 defines
 * them.
 */
export function rateLimitFields({ quota, window, remaining, reset }: RateUsage) {
  return {
    'RateLimit-Policy': `"${RATE_LIMIT}";q=${quota};w=${window}`,
    RateLimit: `"${RATE_LIMIT}";r=${remaining};t=${reset}`,
  };
}
