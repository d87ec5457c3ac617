import type { ErrorKind } from './error-kind.js';

interface ErrorDetails extends ErrorOptions {
  /** Further header fields of the response. One that HTTP forbids is logged and left out. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A further parameter of the challenge in `WWW-Authenticate`. */
  readonly challenge?: string;
}

/**
 * An error for the client, independent of HTTP (`http/errors/to-error-response.ts` makes the response).
 *
 * @example throw new ServiceException(TOOL_ERRORS.toolNotFound, `there is no tool with id ${id}`, { cause: error });
 */
export class ServiceException extends Error {
  override readonly name = 'ServiceException';

  /**
   * @param message for the client, so it must not contain SQL, paths or secrets
   * @param details `cause` is logged and never sent to the client
   */
  constructor(
    readonly kind: ErrorKind,
    message = kind.message,
    readonly details: ErrorDetails = {},
  ) {
    super(message, details);
  }
}
