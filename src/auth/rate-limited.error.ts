import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { RateUsage } from './rate-limit.js';

/** Too many requests of a principal. */
export class RateLimitedError extends PlantStoreError {
  constructor(readonly usage: RateUsage) {
    const { quota, window } = usage;
    const message = `the owner of the token has sent more than ${quota} requests in ${window} seconds`;
    super(ERRORS.rateLimited, message);
  }
}
