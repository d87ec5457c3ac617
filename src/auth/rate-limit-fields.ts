import type { RateUsage } from './rate-limit.js';

/**
 * The header fields of a rate limit: structured fields (RFC 9651), as draft-ietf-httpapi-ratelimit-headers-11 defines
 * them.
 */
export function rateLimitFields({ limit, quota, window, remaining, reset }: RateUsage) {
  return {
    'RateLimit-Policy': `"${limit}";q=${quota};w=${window}`,
    RateLimit: `"${limit}";r=${remaining};t=${reset}`,
  };
}
