import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

export class UnsupportedMediaTypeError extends ServiceException {
  /** @param accepted by the operation, for header fields that depend on the method */
  constructor(
    message: string,
    readonly accepted: readonly string[],
    readonly method: string,
  ) {
    super(ERRORS.unsupportedMediaType, message);
  }
}
