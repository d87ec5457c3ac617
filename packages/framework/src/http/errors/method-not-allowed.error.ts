import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

/** The path exists, but does not support the method. */
export class MethodNotAllowedError extends ServiceException {
  /** @param allowed the supported methods, for the Allow header (RFC 9110, section 15.5.6) */
  constructor(readonly allowed: readonly string[]) {
    super(ERRORS.methodNotAllowed);
  }
}
