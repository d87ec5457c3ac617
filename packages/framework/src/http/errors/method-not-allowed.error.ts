import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

export class MethodNotAllowedError extends ServiceException {
  /** @param allowed for the Allow header (RFC 9110, section 15.5.6) */
  constructor(readonly allowed: readonly string[]) {
    super(ERRORS.methodNotAllowed);
  }
}
