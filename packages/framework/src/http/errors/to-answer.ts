import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { RateLimitedError, rateLimitFields } from '../../auth/rate-limited.error.js';
import { InsufficientScopeError } from '../../auth/credentials.error.js';
import { ERRORS } from '../../errors/common-errors.js';
import { allErrors, statusOf } from '../../errors/error-kind.js';
import type { ErrorKind } from '../../errors/error-kind.js';
import type { ErrorDto } from './error.dto.js';
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
 * Maps anything that was thrown to the answer that the client gets.
 *
 * @param realm the protection space that challenges name (RFC 9110, section 11.5)
 */
export function toAnswer(failure: unknown, realm?: string): ErrorAnswer {
  if (failure instanceof HttpException && isStatus(failure.getStatus())) {
    return ofHttpException(failure, realm);
  }
  const kind = kindOf(failure);
  return {
    status: statusOf(kind.number),
    headers: {
      ...headersOf(kind, realm),
      ...(failure instanceof InsufficientScopeError && challengeFor(failure, realm)),
      ...(failure instanceof RateLimitedError && waitFor(failure)),
      ...(failure instanceof MethodNotAllowedError && { Allow: failure.allowed.join(', ') }),
      ...(failure instanceof UnsupportedMediaTypeError && acceptedBy(failure)),
    },
    body: {
      error: kind.number,
      message: (failure instanceof ServiceException && failure.message) || kind.message,
    },
  };
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

/** The status and message of a Nest exception are meant for the client. */
function ofHttpException(exception: HttpException, realm?: string): ErrorAnswer {
  const status = exception.getStatus();
  const error = status * 100;
  const kind = allErrors().find(({ number }) => number === error);
  return {
    status,
    headers: kind === undefined ? {} : headersOf(kind, realm),
    body: { error, message: messageOf(exception) },
  };
}

/** The response of a Nest exception is a string, or an object with one or more strings in `message` or `error`. */
function messageOf(exception: HttpException): string {
  const response: string | { readonly message?: unknown; readonly error?: unknown } =
    exception.getResponse();
  // The message of a wrapped error is not meant for the client.
  if (response instanceof Error) return STATUS_CODES[exception.getStatus()] ?? 'Error';
  const texts = typeof response === 'string' ? response : (response.message ?? response.error);
  const lines = [texts].flat().filter((text) => typeof text === 'string');
  return lines.join('; ') || exception.message;
}

/** Whether Node.js can send the status of a final answer. An exception with any other status is a bug. */
function isStatus(status: unknown): boolean {
  return Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599;
}

function kindOf(failure: unknown): ErrorKind {
  if (failure instanceof ServiceException) return failure.kind;
  // Errors of Express and its libraries (`http-errors`) have a `status`.
  const status = failure instanceof Error && 'status' in failure ? Number(failure.status) : 500;
  if (status === 404) return ERRORS.noSuchPath;
  return status >= 400 && status < 500 ? ERRORS.badRequest : ERRORS.internal;
}
