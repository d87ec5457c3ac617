import { PlantStoreError } from './plant-store.error.js';

/** The path exists, but not for this method. */
export class MethodNotAllowedError extends PlantStoreError {
  /** @param allowed the methods of the path, which the answer must list (RFC 9110, section 15.5.6) */
  constructor(readonly allowed: readonly string[]) {
    super('method-not-allowed');
  }
}
