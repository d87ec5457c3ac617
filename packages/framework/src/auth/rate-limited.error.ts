import { ERRORS } from '../errors/common-errors.js';
import { ServiceException } from '../errors/service.exception.js';

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
