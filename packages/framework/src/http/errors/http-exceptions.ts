import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { isTemporary } from '../../errors/error-kind.js';
import type { ErrorKind } from '../../errors/error-kind.js';

/**
 * The statuses whose number × 100 is an error of the framework with a meaning and a remedy of its own: 40400 says that the path
 * does not exist, not that a handler has found nothing. 40000 and 50000 mean no more than their statuses.
 */
export const TAKEN_STATUSES: readonly number[] = [
  401, 403, 404, 405, 408, 410, 412, 413, 415, 417, 422, 429, 431, 503,
];

/** The last digits of exceptions with {@link TAKEN_STATUSES}, and of no error of the framework. */
export const OWN_ENDING = 19;

export function kindOfStatus(status: number): ErrorKind {
  const number = status * 100 + (TAKEN_STATUSES.includes(status) ? OWN_ENDING : 0);
  const message = STATUS_CODES[status] ?? 'Error';
  return { code: 'http-exception', number, message, remedy: '', isTemporary: isTemporary(status) };
}

/** Also recognizes exceptions of a second copy of the package, which `instanceof` does not. */
export function isHttpException(thrown: unknown): thrown is HttpException {
  if (thrown instanceof HttpException) return true;
  if (!(thrown instanceof Error)) return false;
  let prototype: unknown = Object.getPrototypeOf(thrown);
  while (prototype instanceof Error && prototype.constructor.name !== 'HttpException') {
    prototype = Object.getPrototypeOf(prototype);
  }
  return prototype instanceof Error && 'getStatus' in prototype && 'getResponse' in prototype;
}

/**
 * The text for the client: the response of an exception is a string, or an object with one or more strings in `message` or
 * `error`.
 */
export function messageOf(exception: HttpException, fallback: string): string {
  const response: string | { readonly message?: unknown; readonly error?: unknown } =
    exception.getResponse();
  // The message of a wrapped error is not meant for the client.
  if (response instanceof Error) return fallback;
  const texts = typeof response === 'string' ? response : (response.message ?? response.error);
  const lines = [texts].flat().filter((text) => typeof text === 'string');
  return lines.join('; ') || exception.message || fallback;
}
