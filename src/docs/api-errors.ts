import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ERROR_TABLE } from '../errors/error-table.js';
import type { ErrorCode, ErrorDefinition } from '../errors/error-table.js';
import { ErrorDto } from '../errors/error.dto.js';

/** The failures that any operation can have. */
const COMMON: readonly ErrorCode[] = [
  'bad-request',
  'no-credentials',
  'token-not-valid',
  'token-expired',
  'request-timeout',
  'expectation-failed',
  'headers-too-large',
  'internal',
  'database-unavailable',
  'overloaded',
  'shutting-down',
  'token-issuer-unavailable',
];

/** Documents the failures of an operation, those common to all included, out of the error table. */
export function ApiErrors(...codes: readonly ErrorCode[]): MethodDecorator & ClassDecorator {
  const definitions: readonly (readonly [string, ErrorDefinition])[] = [...codes, ...COMMON].map(
    (code) => [code, ERROR_TABLE[code]],
  );
  const statuses = [...new Set(definitions.map(([, { status }]) => status))];
  return applyDecorators(
    ApiExtraModels(ErrorDto),
    ...statuses.map((status) => {
      const ofStatus = definitions
        .filter(([, definition]) => definition.status === status)
        .toSorted(([, one], [, other]) => one.number - other.number);
      return ApiResponse({
        status,
        description: ofStatus
          .map(([, { number, message }]) => `${number}: ${message}`)
          .join('\n\n'),
        headers: headersOf(ofStatus.map(([, definition]) => definition)),
        content: {
          'application/json': {
            schema: { $ref: getSchemaPath(ErrorDto) },
            examples: Object.fromEntries(
              ofStatus.map(([code, { number, message }]) => [
                code,
                { summary: message, value: { error: number, message } },
              ]),
            ),
          },
        },
      });
    }),
  );
}

function headersOf(definitions: readonly ErrorDefinition[]) {
  const names = new Set(definitions.flatMap(({ headers }) => Object.keys(headers ?? {})));
  return Object.fromEntries(
    [...names].map((name) => [name, { schema: { type: 'string' as const } }]),
  );
}
