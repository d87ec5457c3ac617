import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ERRORS } from '../../errors/common-errors.js';
import { statusOf } from '../../errors/error-kind.js';
import type { ErrorKind } from '../../errors/error-kind.js';
import { ErrorDto } from './error.dto.js';
import { headersOf } from './to-error-response.js';

/** With the message of its example and further header fields, if wanted. */
type DocumentedError =
  ErrorKind | readonly [kind: ErrorKind, message: string, headers?: readonly string[]];

const COMMON: readonly DocumentedError[] = [
  ERRORS.badRequest,
  ERRORS.noCredentials,
  ERRORS.tokenNotValid,
  ERRORS.tokenExpired,
  ERRORS.scopeMissing,
  ERRORS.requestTimeout,
  ERRORS.expectationFailed,
  [ERRORS.rateLimited, ERRORS.rateLimited.message, ['RateLimit-Policy', 'RateLimit']],
  ERRORS.tooManyUnanswered,
  ERRORS.headersTooLarge,
  ERRORS.internal,
  ERRORS.databaseUnavailable,
  ERRORS.overloaded,
  ERRORS.shuttingDown,
  ERRORS.tokenIssuerUnavailable,
  ERRORS.poolExhausted,
  ERRORS.databaseTooSlow,
  ERRORS.rowLocked,
  ERRORS.transactionConflict,
];

const HEADER_MEANINGS: Readonly<Record<string, string>> = {
  'WWW-Authenticate': 'Why the credentials were refused (RFC 6750, section 3).',
  'Retry-After': 'Seconds to wait before the request is sent again.',
  'RateLimit-Policy':
    'How many requests (`q`) the client may send in how many seconds (`w`): a structured field (RFC 9651).',
  RateLimit: 'How many requests are left (`r`), and after how many seconds there are more (`t`).',
  'Accept-Post': 'The media type that the operation accepts.',
  'Accept-Patch': 'The media types that the operation accepts (RFC 5789, section 3.1).',
  Accept: 'The media type that the operation accepts.',
  'Accept-Encoding': 'The content coding that the operation accepts.',
};

/** Documents the errors of an operation, and those of all operations. */
export function ApiErrors(...errors: readonly DocumentedError[]): MethodDecorator & ClassDecorator {
  const documented = [...errors, ...COMMON].map((error) => {
    const [kind, message = kind.message, others = []] = 'code' in error ? [error] : error;
    return { kind, message, headers: [...others, ...Object.keys(headersOf(kind))] };
  });
  const statuses = new Set(documented.map(({ kind }) => statusOf(kind.number)));
  return applyDecorators(
    ApiExtraModels(ErrorDto),
    ...[...statuses].map((status) => {
      const ofStatus = documented
        .filter(({ kind }) => statusOf(kind.number) === status)
        .toSorted((one, other) => one.kind.number - other.kind.number);
      return ApiResponse({
        status,
        description: ofStatus.map(({ kind }) => `${kind.number}: ${kind.message}`).join('\n\n'),
        headers: Object.fromEntries(
          ofStatus
            .flatMap(({ headers }) => headers)
            .map((name) => [
              name,
              { description: HEADER_MEANINGS[name] ?? '', schema: { type: 'string' } },
            ]),
        ),
        content: {
          'application/json': {
            schema: { $ref: getSchemaPath(ErrorDto) },
            examples: Object.fromEntries(
              ofStatus.map(({ kind, message }) => [
                kind.code,
                { summary: kind.message, value: { error: kind.number, message } },
              ]),
            ),
          },
        },
      });
    }),
  );
}
