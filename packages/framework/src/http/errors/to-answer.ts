import { STATUS_CODES } from 'node:http';
import { RateLimitedError, rateLimitFields } from '../../auth/rate-limited.error.js';
import { InsufficientScopeError } from '../../auth/credentials.error.js';
import { ERRORS } from '../../errors/common-errors.js';
import { statusOf } from '../../errors/error-kind.js';
import type { ErrorKind } from '../../errors/error-kind.js';
import type { ErrorDto } from './error.dto.js';
import { isHttpException, kindOfStatus, messageOf } from './http-exceptions.js';
import { MethodNotAllowedError } from './method-not-allowed.error.js';
import { ServiceException } from '../../errors/service.exception.js';
import { UnsupportedMediaTypeError } from './unsupported-media-type.error.js';

/** What the challenge says of credentials that the request had (RFC 6750, section 3). */
const CHALLENGE_ERRORS: ReadonlyMap<ErrorKind, string> = new Map([
  [ERRORS.tokenNotValid, 'error="invalid_token", error_description="the token is not valid"'],
  [ERRORS.tokenExpired, 'error="invalid_token", error_description="the token has expired"'],
  [
    ERRORS.scopeMissing,
    'error="insufficient_scope", error_description="the token lacks the scope"',
  ],
]);

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorDto;
}

/** The header fields of every answer with this failure. */
export function headersOf(kind: ErrorKind, realm?: string): Readonly<Record<string, string>> {
  const status = statusOf(kind.number);
  return {
    ...([401, 403].includes(status) && { 'WWW-Authenticate': challengeOf(kind, realm) }),
    ...(status === 415 && { 'Accept-Encoding': 'identity' }),
    ...(kind.isTemporary && { 'Retry-After': '1' }),
  };
}

/**
 * Maps anything that was thrown to the answer that the client gets. Only failures of the service, exceptions of Nest, and what Express's readers
 * of requests and sender of files throw decide a status: what any other library throws may have the status of somebody else's server.
 *
 * @param realm the protection space that challenges name (RFC 9110, section 11.5)
 */
export function toAnswer(failure: unknown, realm?: string): ErrorAnswer {
  try {
    return answerTo(failure, realm);
  } catch {
    // What was thrown can be anything, also an object whose properties cannot be read.
    return answerOf(ERRORS.internal, realm);
  }
}

function answerTo(failure: unknown, realm?: string): ErrorAnswer {
  if (failure instanceof ServiceException) {
    const { body, headers, status } = answerOf(failure.kind, realm, failure.message || undefined);
    return { body, status, headers: { ...headers, ...ownHeadersOf(failure, realm) } };
  }
  if (isHttpException(failure) && isStatus(failure.getStatus())) {
    const kind = kindOfStatus(failure.getStatus());
    return answerOf(kind, realm, messageOf(failure, kind.message));
  }
  return answerOf(kindOf(failure), realm);
}

function answerOf(kind: ErrorKind, realm?: string, message = kind.message): ErrorAnswer {
  return {
    status: statusOf(kind.number),
    headers: headersOf(kind, realm),
    body: { error: kind.number, message },
  };
}

function ownHeadersOf(failure: ServiceException, realm?: string): Record<string, string> {
  if (failure instanceof InsufficientScopeError) return challengeFor(failure, realm);
  if (failure instanceof RateLimitedError) return waitFor(failure);
  if (failure instanceof MethodNotAllowedError) return { Allow: failure.allowed.join(', ') };
  return failure instanceof UnsupportedMediaTypeError ? acceptedBy(failure) : {};
}

function challengeOf(kind: ErrorKind, realm = ''): string {
  const error = CHALLENGE_ERRORS.get(kind);
  return `Bearer realm="${realm}"${error === undefined ? '' : `, ${error}`}`;
}

/** Names the scope that the client needs (RFC 6750, section 3). */
function challengeFor(
  { kind, scope }: InsufficientScopeError,
  realm?: string,
): Record<string, string> {
  return { 'WWW-Authenticate': `${challengeOf(kind, realm)}, scope="${scope}"` };
}

function waitFor({ usage }: RateLimitedError): Record<string, string> {
  return { 'Retry-After': String(usage.reset), ...rateLimitFields(usage) };
}

/**
 * The header field that lists the accepted media types. Its name depends on the method: RFC 5789, section 3.1
 * (Accept-Patch), Linked Data Platform, section 7.1 (Accept-Post), RFC 9110, section 12.5.1 (Accept).
 */
function acceptedBy({ accepted, method }: UnsupportedMediaTypeError): Record<string, string> {
  const name = { POST: 'Accept-Post', PATCH: 'Accept-Patch' }[method] ?? 'Accept';
  return { [name]: accepted.join(', ') };
}

/** Whether Node.js can send the status of a final answer. An exception with any other status is a bug. */
function isStatus(status: unknown): boolean {
  return Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599;
}

/**
 * What readers of bodies call their failures (body-parser 2 and raw-body 3, "Errors"), which a middleware of a service may use. A failure
 * that is missing here is a bug.
 */
const READER_FAILURES: ReadonlyMap<unknown, ErrorKind> = new Map([
  ['charset.unsupported', ERRORS.unsupportedMediaType],
  ['encoding.unsupported', ERRORS.unsupportedMediaType],
  ['entity.parse.failed', ERRORS.badRequest],
  ['entity.too.large', ERRORS.bodyTooLarge],
  ['entity.verify.failed', kindOfStatus(403)],
  ['parameters.too.many', ERRORS.bodyTooLarge],
  ['querystring.parse.rangeError', ERRORS.badRequest],
  ['request.aborted', ERRORS.badRequest],
  ['request.size.invalid', ERRORS.badRequest],
]);

const SENT_FILE_STATUSES: ReadonlySet<unknown> = new Set([400, 403, 404, 412, 416]);

/** The codes of `stat` for which there is no such file. */
const MISSING: ReadonlySet<unknown> = new Set(['ENAMETOOLONG', 'ENOENT', 'ENOTDIR']);

function kindOf(failure: unknown): ErrorKind {
  if (!(failure instanceof Error)) return ERRORS.internal;
  const { status, type } = failure as { readonly status?: unknown; readonly type?: unknown };
  if (isOfSentFile(failure)) return kindOfStatus(failure.status);
  // The router of Express cannot decode a parameter of the path.
  if (failure instanceof URIError && status === 400) return ERRORS.badRequest;
  const kind = READER_FAILURES.get(type);
  return kind !== undefined && status === statusOf(kind.number) ? kind : ERRORS.internal;
}

/**
 * Whether Express could not send a file (`sendFile`, `download`, `static`): its module `send` gives a status to the error of `stat`, or makes
 * an error of `http-errors` without a text of its own. Errors of clients of other servers have no `expose`.
 */
function isOfSentFile(failure: Error): failure is Error & { readonly status: number } {
  const { status, statusCode, expose, code, syscall } = failure as Partial<
    Record<'status' | 'statusCode' | 'expose' | 'code' | 'syscall', unknown>
  >;
  if (status !== statusCode) return false;
  if (syscall === 'stat') return status === 404 && expose === false && MISSING.has(code);
  return (
    SENT_FILE_STATUSES.has(status) &&
    expose === true &&
    failure.message === STATUS_CODES[Number(status)]
  );
}
