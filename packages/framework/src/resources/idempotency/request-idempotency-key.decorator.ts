import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Request } from 'express';
import { needingPrincipal } from '../../auth/require-principal.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

const MAX_LENGTH = 255;

/**
 * The draft requires a string in quotation marks (RFC 9651, section 3.3.3), which most clients leave out. Repeated header fields
 * arrive joined by commas.
 */
const IDEMPOTENCY_KEY = new RegExp(
  String.raw`^(?:"((?:[ !#-\[\]-~]|\\["\\]){1,${MAX_LENGTH}})"|([!#-+\--~]{1,${MAX_LENGTH}}))$`,
);

/**
 * Documents the header field of an operation. Its errors are {@link idempotencyErrors}.
 *
 * @example
 * @ApiIdempotencyKey()
 * @Post('returns')
 */
export const ApiIdempotencyKey = () =>
  ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'Chosen by the client for this request, such as a UUID. The text may be in quotation marks.',
    schema: { type: 'string', pattern: IDEMPOTENCY_KEY.source },
  });

/** Tells the documentation which methods have the parameter. */
export const requestIdempotencyKey = (_: unknown, context: ExecutionContext) =>
  idempotencyKeyOf(context.switchToHttp().getRequest<Request>());

/**
 * The `Idempotency-Key` of the request, or `undefined` (draft-ietf-httpapi-idempotency-key-header). The service does not start if a
 * `@Public()` route has it: unauthenticated callers would get each other's kept responses.
 *
 * @example create(@RequestIdempotencyKey() idempotencyKey: string | undefined) {}
 */
export const RequestIdempotencyKey = needingPrincipal(
  '@RequestIdempotencyKey()',
  createParamDecorator(requestIdempotencyKey),
);

/** @throws ServiceException `parameter-not-valid` */
export function idempotencyKeyOf({
  headers: { 'idempotency-key': field },
}: Pick<Request, 'headers'>): string | undefined {
  if (field === undefined) return undefined;
  const [, quoted, plain] = IDEMPOTENCY_KEY.exec(String(field)) ?? [];
  const key = quoted?.replaceAll(/\\(.)/g, '$1') ?? plain;
  if (key !== undefined) return key;
  throw new ServiceException(
    ERRORS.parameterNotValid,
    `Idempotency-Key must be 1 to ${MAX_LENGTH} visible ASCII characters without commas, or a string in quotation marks`,
  );
}
