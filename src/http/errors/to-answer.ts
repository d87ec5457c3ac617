import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { ERROR_TABLE, type ErrorCode, type ErrorDefinition } from '../../errors/error-table.js';
import type { ErrorDto } from './error.dto.js';
import { MethodNotAllowedError } from './method-not-allowed.error.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';
import { UnsupportedMediaTypeError } from './unsupported-media-type.error.js';

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorDto;
}

/** Maps anything that was thrown to the answer that the client gets. */
export function toAnswer(failure: unknown): ErrorAnswer {
  if (failure instanceof HttpException && isStatus(failure.getStatus())) {
    return ofHttpException(failure);
  }
  const { status, number, message, headers }: ErrorDefinition = ERROR_TABLE[codeOf(failure)];
  return {
    status,
    headers: {
      ...headers,
      ...(failure instanceof MethodNotAllowedError && { Allow: failure.allowed.join(', ') }),
      ...(failure instanceof UnsupportedMediaTypeError && acceptedBy(failure)),
    },
    body: {
      error: number,
      message: (failure instanceof PlantStoreError && failure.message) || message,
    },
  };
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
function ofHttpException(exception: HttpException): ErrorAnswer {
  const status = exception.getStatus();
  const error = status * 100;
  const headers = Object.values<ErrorDefinition>(ERROR_TABLE).find(
    ({ number }) => number === error,
  )?.headers;
  return { status, headers: { ...headers }, body: { error, message: messageOf(exception) } };
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

function codeOf(failure: unknown): ErrorCode {
  if (failure instanceof PlantStoreError) return failure.code;
  const status = statusOf(failure);
  if (status === 404) return 'no-such-path';
  return status !== undefined && status >= 400 && status < 500 ? 'bad-request' : 'internal';
}

/** Errors of Express and its libraries (`http-errors`) have a `status`. */
function statusOf(failure: unknown): number | undefined {
  return failure instanceof Error && 'status' in failure && typeof failure.status === 'number'
    ? failure.status
    : undefined;
}
