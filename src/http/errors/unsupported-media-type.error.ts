import { ERRORS } from '../../errors/common-errors.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';

/** The body has a media type that the operation does not accept. */
export class UnsupportedMediaTypeError extends PlantStoreError {
  /** @param accepted the media types that the operation accepts, and the method that it uses, for header fields */
  constructor(
    message: string,
    readonly accepted: readonly string[],
    readonly method: string,
  ) {
    super(ERRORS.unsupportedMediaType, message);
  }
}
