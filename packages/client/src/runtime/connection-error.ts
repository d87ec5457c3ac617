/**
 * There was no response, or it broke off, and a further attempt makes no sense or failed, too. It is a `TypeError`, as the errors of
 * `fetch` are; `cause` is the one of the last attempt.
 */
export class ConnectionError extends TypeError {
  override readonly name = 'ConnectionError';

  constructor(
    readonly url: string,
    cause: TypeError,
  ) {
    super(`the connection to ${url} failed: ${reasonOf(cause)}`, { cause });
  }
}

/** Node.js wraps the reason in an error that only says `fetch failed`. The error of several addresses has no message. */
function reasonOf({ message, cause }: TypeError): string {
  const { message: inner = '', code } = (cause ?? {}) as NodeJSError;
  return inner || (code ?? message);
}

interface NodeJSError {
  readonly message?: string;
  readonly code?: string;
}
