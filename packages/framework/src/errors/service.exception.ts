import type { ErrorKind } from './error-kind.js';

/** A failure with an answer for the client, independent of HTTP (`src/http/errors/to-answer.ts` makes the answer). */
export class ServiceException extends Error {
  override readonly name = 'ServiceException';

  /**
   * @param message shown to the client, so it must not contain SQL, paths or secrets. Default: the message of the kind
   * @param options `cause` is logged and never sent to the client
   */
  constructor(
    readonly kind: ErrorKind,
    message = kind.message,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
