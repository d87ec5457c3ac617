import type { ErrorKind } from './error-kind.js';

/** An error for the client, independent of HTTP (`http/errors/to-answer.ts` makes the response). */
export class ServiceException extends Error {
  override readonly name = 'ServiceException';

  /**
   * @param message for the client, so it must not contain SQL, paths or secrets
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
