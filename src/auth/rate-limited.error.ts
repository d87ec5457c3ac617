import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { RateLimitName, RateUsage } from './rate-limit.js';

const SENDERS: Readonly<Record<RateLimitName, string>> = {
  principal: 'the owner of the token has sent',
  'failed-authentication': 'this address has sent credentials that are not valid in',
};

/** Too many requests of a principal, or too many failed authentications of an address. */
export class RateLimitedError extends PlantStoreError {
  constructor(readonly usage: RateUsage) {
    const { limit, quota, window } = usage;
    super(ERRORS.rateLimited, `${SENDERS[limit]} more than ${quota} requests in ${window} seconds`);
  }
}
