import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ERRORS } from '../../errors/common-errors.js';
import { statusOf } from '../../errors/error-kind.js';
import type { ErrorKind } from '../../errors/error-kind.js';
import { ErrorDto } from './error.dto.js';
import { headersOf } from './to-error-response.js';

/** Where `@ApiResponse()` keeps its options (not exported). */
export const RESPONSES = 'swagger/apiResponse';

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
  'WWW-Authenticate': 'Why the credentials were rejected (RFC 6750, section 3).',
  'Retry-After': 'Seconds to wait before the request is sent again.',
  'RateLimit-Policy':
    'How many requests (`q`) the client may send in how many seconds (`w`): a structured field (RFC 9651).',
  RateLimit: 'How many requests are left (`r`), and after how many seconds there are more (`t`).',
  'Accept-Post': 'The media type that the operation accepts.',
  'Accept-Patch': 'The media types that the operation accepts (RFC 5789, section 3.1).',
  Accept: 'The media type that the operation accepts.',
  'Accept-Encoding': 'The content coding that the operation accepts.',
};

const DOCUMENTED = Symbol('documented errors');

/**
 * Documents the errors of an operation, and the errors that all operations have. Errors of several such decorators stand beside each
 * other; for one error, the decorator nearest to the method has priority.
 *
 * @example
 * @ApiErrors([ERRORS.parameterNotValid, int64Constraint('id')], TOOL_ERRORS.toolNotFound)
 * @Get(':id/history')
 */
export function ApiErrors(...errors: readonly DocumentedError[]): MethodDecorator & ClassDecorator {
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor) => {
    const subject = (descriptor?.value ?? target) as object;
    const earlier = Reflect.getOwnMetadata(DOCUMENTED, subject) as typeof errors | undefined;
    if (earlier !== undefined) forgetResponses(subject, earlier);
    const own = [...(earlier ?? []), ...errors];
    Reflect.defineMetadata(DOCUMENTED, own, subject);
    applyDecorators(ApiExtraModels(ErrorDto), ...responsesOf(own))(
      target,
      name,
      descriptor as never,
    );
  };
}

/** Swagger would append the descriptions of a status, and keep the last examples only. */
function forgetResponses(subject: object, errors: readonly DocumentedError[]): void {
  const forgotten = new Set(
    [...errors, ...COMMON].map((error) => String(statusOf(kindOf(error).number))),
  );
  const responses = Reflect.getMetadata(RESPONSES, subject) as object;
  const kept = Object.entries(responses).filter(([status]) => !forgotten.has(status));
  Reflect.defineMetadata(RESPONSES, Object.fromEntries(kept), subject);
}

function kindOf(error: DocumentedError): ErrorKind {
  return 'code' in error ? error : error[0];
}

function responsesOf(errors: readonly DocumentedError[]): readonly MethodDecorator[] {
  const documented = [...errors, ...COMMON].map((error) => {
    const kind = kindOf(error);
    const [, message = kind.message, others = []] = 'code' in error ? [error] : error;
    return { kind, message, headers: [...others, ...Object.keys(headersOf(kind))] };
  });
  const first = new Map(documented.toReversed().map((error) => [error.kind.number, error]));
  const sorted = [...first.values()].toSorted((one, other) => one.kind.number - other.kind.number);
  const statuses = new Set(sorted.map(({ kind }) => statusOf(kind.number)));
  return [...statuses].map((status) => {
    const ofStatus = sorted.filter(({ kind }) => statusOf(kind.number) === status);
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
  });
}
