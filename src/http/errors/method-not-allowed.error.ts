import { ERRORS } from '../../errors/common-errors.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';

/** The path exists, but does not support the method. */
export class MethodNotAllowedError extends PlantStoreError {
  /** @param allowed the supported methods, for the Allow header (RFC 9110, section 15.5.6) */
  constructor(readonly allowed: readonly string[]) {
    super(ERRORS.methodNotAllowed);
  }
}
