import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { ERROR_TABLE, type ErrorCode, type ErrorDefinition } from './error-table.js';
import type { ErrorDto } from './error.dto.js';
import { MethodNotAllowedError } from './method-not-allowed.error.js';
import { PlantStoreError } from './plant-store.error.js';

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorDto;
}

/** What a caller is told of a failure, whatever was thrown. */
export function toAnswer(failure: unknown): ErrorAnswer {
  if (failure instanceof HttpException && isStatus(failure.getStatus())) {
    return ofHttpException(failure);
  }
  const { status, number, message, headers }: ErrorDefinition = ERROR_TABLE[codeOf(failure)];
  return {
    status,
    headers: {
      ...headers,
      ...(failure instanceof MethodNotAllowedError ? { Allow: failure.allowed.join(', ') } : {}),
    },
    body: {
      error: number,
      message: (failure instanceof PlantStoreError && failure.message) || message,
    },
  };
}

/** An exception of Nest is thrown on purpose, so its status and its message are meant for the caller. */
function ofHttpException(exception: HttpException): ErrorAnswer {
  const status = exception.getStatus();
  const error = status * 100;
  const headers = Object.values<ErrorDefinition>(ERROR_TABLE).find(
    ({ number }) => number === error,
  )?.headers;
  return { status, headers: { ...headers }, body: { error, message: messageOf(exception) } };
}

/** Nest's exceptions carry a text, or an object with one or more in `message`, or in `error`. */
function messageOf(exception: HttpException): string {
  const response: string | { readonly message?: unknown; readonly error?: unknown } =
    exception.getResponse();
  // Nest keeps the text of a wrapped error from the caller.
  if (response instanceof Error) return STATUS_CODES[exception.getStatus()] ?? 'Error';
  const texts = typeof response === 'string' ? response : (response.message ?? response.error);
  const lines = [texts].flat().filter((text) => typeof text === 'string');
  return lines.join('; ') || exception.message;
}

/** What Node.js can send in the end; an exception with another one is a mistake of ours. */
function isStatus(status: unknown): boolean {
  return Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599;
}

function codeOf(failure: unknown): ErrorCode {
  if (failure instanceof PlantStoreError) return failure.code;
  const status = statusOf(failure);
  if (status === 404) return 'no-such-path';
  return status !== undefined && status >= 400 && status < 500 ? 'bad-request' : 'internal';
}

/** Express and the libraries below it (`http-errors`) tell of their refusals by a status. */
function statusOf(failure: unknown): number | undefined {
  return failure instanceof Error && 'status' in failure && typeof failure.status === 'number'
    ? failure.status
    : undefined;
}
