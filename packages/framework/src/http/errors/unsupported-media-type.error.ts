import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

/** The body has a media type that the operation does not accept. */
export class UnsupportedMediaTypeError extends ServiceException {
  /** @param accepted the media types that the operation accepts, and the method that it uses, for header fields */
  constructor(
    message: string,
    readonly accepted: readonly string[],
    readonly method: string,
  ) {
    super(ERRORS.unsupportedMediaType, message);
  }
}
