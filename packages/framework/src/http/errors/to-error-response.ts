import { STATUS_CODES } from 'node:http';
import { ERRORS } from '../../errors/common-errors.js';
import { statusOf } from '../../errors/error-kind.js';
import type { ErrorKind } from '../../errors/error-kind.js';
import type { ErrorDto } from './error.dto.js';
import { isHttpException, kindOfStatus, messageOf } from './http-exceptions.js';
import { ServiceException } from '../../errors/service.exception.js';

/** For requests with credentials (RFC 6750, section 3). */
const CHALLENGE_ERRORS: ReadonlyMap<ErrorKind, string> = new Map([
  [ERRORS.tokenNotValid, 'error="invalid_token", error_description="the token is not valid"'],
  [ERRORS.tokenExpired, 'error="invalid_token", error_description="the token has expired"'],
  [
    ERRORS.scopeMissing,
    'error="insufficient_scope", error_description="the token lacks the scope"',
  ],
]);

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorDto;
}

export function headersOf(kind: ErrorKind, realm?: string): Readonly<Record<string, string>> {
  const status = statusOf(kind.number);
  return {
    ...([401, 403].includes(status) && { 'WWW-Authenticate': challengeOf(kind, realm) }),
    ...(status === 415 && { 'Accept-Encoding': 'identity' }),
    ...(kind.isTemporary && { 'Retry-After': '1' }),
  };
}

/**
 * Maps anything that was thrown to a response. Only errors of the service, exceptions of Nest, and errors of Express's readers of
 * requests and sender of files decide a status: an error of any other library may have the status of another server.
 *
 * @param realm of challenges (RFC 9110, section 11.5)
 */
export function toErrorResponse(thrown: unknown, realm?: string): ErrorResponse {
  try {
    if (thrown instanceof ServiceException) {
      const { kind, message, details } = thrown;
      const { body, headers, status } = responseOf(kind, realm, message || undefined);
      const { challenge } = details;
      const own = challenge && { 'WWW-Authenticate': `${challengeOf(kind, realm)}, ${challenge}` };
      return { body, status, headers: { ...headers, ...details.headers, ...own } };
    }
    if (isHttpException(thrown) && isStatus(thrown.getStatus())) {
      const kind = kindOfStatus(thrown.getStatus());
      return responseOf(kind, realm, messageOf(thrown, kind.message));
    }
    return responseOf(kindOf(thrown), realm);
  } catch {
    // For example, an object whose properties cannot be read.
    return responseOf(ERRORS.internal, realm);
  }
}

function responseOf(kind: ErrorKind, realm?: string, message = kind.message): ErrorResponse {
  return {
    status: statusOf(kind.number),
    headers: headersOf(kind, realm),
    body: { error: kind.number, message },
  };
}

function challengeOf(kind: ErrorKind, realm = ''): string {
  const error = CHALLENGE_ERRORS.get(kind);
  return `Bearer realm="${realm}"${error === undefined ? '' : `, ${error}`}`;
}

/** Whether Node.js can send the status with a final response. An exception with any other status is a bug. */
function isStatus(status: unknown): boolean {
  return Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599;
}

/**
 * The types of errors of readers of bodies (body-parser 2 and raw-body 3, "Errors"), which a middleware of a service may use.
 * Others are bugs.
 */
const READER_ERROR = /^(?:charset|encoding|entity|parameters|querystring|request)\.\w/;

const READER_KINDS: ReadonlyMap<unknown, ErrorKind> = new Map([
  [400, ERRORS.badRequest],
  [403, kindOfStatus(403)],
  [413, ERRORS.bodyTooLarge],
  [415, ERRORS.unsupportedMediaType],
]);

const SENT_FILE_STATUSES: ReadonlySet<unknown> = new Set([400, 403, 404, 412, 416]);

const NO_SUCH_FILE: ReadonlySet<unknown> = new Set(['ENAMETOOLONG', 'ENOENT', 'ENOTDIR']);

function kindOf(thrown: unknown): ErrorKind {
  if (!(thrown instanceof Error)) return ERRORS.internal;
  const { status, type } = thrown as { readonly status?: unknown; readonly type?: unknown };
  if (isSendError(thrown)) return kindOfStatus(thrown.status);
  // Express cannot decode a parameter of the path.
  if (thrown instanceof URIError && status === 400) return ERRORS.badRequest;
  const isOfReader = typeof type === 'string' && READER_ERROR.test(type);
  return (isOfReader && READER_KINDS.get(status)) || ERRORS.internal;
}

/**
 * Whether Express could not send a file (`sendFile`, `download`, `static`): its module `send` gives a status to the error of
 * `stat`, or makes an error of `http-errors` without a text of its own. Errors of HTTP clients have no `expose`.
 */
function isSendError(error: Error): error is Error & { readonly status: number } {
  const { status, statusCode, expose, code, syscall } = error as Partial<
    Record<'status' | 'statusCode' | 'expose' | 'code' | 'syscall', unknown>
  >;
  if (status !== statusCode) return false;
  if (syscall === 'stat') return status === 404 && expose === false && NO_SUCH_FILE.has(code);
  return (
    SENT_FILE_STATUSES.has(status) &&
    expose === true &&
    error.message === STATUS_CODES[Number(status)]
  );
}
