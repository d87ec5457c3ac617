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

function codeOf(failure: unknown): ErrorCode {
  if (failure instanceof PlantStoreError) return failure.code;
  const status = statusOf(failure);
  if (status === 404) return 'no-such-path';
  return status !== undefined && status >= 400 && status < 500 ? 'bad-request' : 'internal';
}

/** Nest, Express and the libraries below it (`http-errors`) tell of their refusals by a status. */
function statusOf(failure: unknown): number | undefined {
  if (failure instanceof HttpException) return failure.getStatus();
  return failure instanceof Error && 'status' in failure && typeof failure.status === 'number'
    ? failure.status
    : undefined;
}
