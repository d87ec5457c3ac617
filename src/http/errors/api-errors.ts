import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ERROR_TABLE } from '../../errors/error-table.js';
import type { ErrorCode, ErrorDefinition } from '../../errors/error-table.js';
import { ErrorDto } from './error.dto.js';

/** A failure of an operation, if wanted with the message of its example and with further header fields. */
type DocumentedError =
  ErrorCode | readonly [code: ErrorCode, message: string, headers?: readonly string[]];

/** The failures that any operation can have. */
const COMMON: readonly ErrorCode[] = [
  'bad-request',
  'no-credentials',
  'token-not-valid',
  'token-expired',
  'request-timeout',
  'expectation-failed',
  'too-many-unanswered',
  'headers-too-large',
  'internal',
  'database-unavailable',
  'overloaded',
  'shutting-down',
  'token-issuer-unavailable',
  'pool-exhausted',
  'database-too-slow',
  'row-locked',
];

/** The header fields of the error table. */
const HEADER_MEANINGS: Readonly<Record<string, string>> = {
  'WWW-Authenticate': 'Why the credentials were refused (RFC 6750, section 3).',
  'Retry-After': 'Seconds to wait before the request is sent again.',
  'Accept-Post': 'The media type that the operation accepts.',
  'Accept-Patch': 'The media types that the operation accepts (RFC 5789, section 3.1).',
  Accept: 'The media type that the operation accepts.',
  'Accept-Encoding': 'The content coding that the operation accepts.',
};

/** Documents the failures of an operation, those common to all included, out of the error table. */
export function ApiErrors(
  ...failures: readonly DocumentedError[]
): MethodDecorator & ClassDecorator {
  const documented = [...failures, ...COMMON].map((failure) => {
    const [code, message, others = []] = typeof failure === 'string' ? [failure] : failure;
    const definition: ErrorDefinition = ERROR_TABLE[code];
    const headers = [...others, ...Object.keys(definition.headers ?? {})];
    return { code, definition, message: message ?? definition.message, headers };
  });
  const statuses = new Set(documented.map(({ definition }) => definition.status));
  return applyDecorators(
    ApiExtraModels(ErrorDto),
    ...[...statuses].map((status) => {
      const ofStatus = documented
        .filter(({ definition }) => definition.status === status)
        .toSorted((one, other) => one.definition.number - other.definition.number);
      return ApiResponse({
        status,
        description: ofStatus
          .map(({ definition }) => `${definition.number}: ${definition.message}`)
          .join('\n\n'),
        ...headersOf(ofStatus.flatMap(({ headers }) => headers)),
        content: {
          'application/json': {
            schema: { $ref: getSchemaPath(ErrorDto) },
            examples: Object.fromEntries(
              ofStatus.map(({ code, definition, message }) => [
                code,
                { summary: definition.message, value: { error: definition.number, message } },
              ]),
            ),
          },
        },
      });
    }),
  );
}

function headersOf(names: readonly string[]) {
  if (names.length === 0) return {};
  return {
    headers: Object.fromEntries(
      names.map((name) => [
        name,
        { description: HEADER_MEANINGS[name] ?? '', schema: { type: 'string' as const } },
      ]),
    ),
  };
}
