import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

const MAX_LENGTH = 255;

/**
 * The draft wants a string in quotation marks (RFC 9651, section 3.3.3). Most clients send the text without them. Several
 * header fields arrive joined by commas.
 */
const IDEMPOTENCY_KEY = new RegExp(
  String.raw`^(?:"((?:[ !#-\[\]-~]|\\["\\]){1,${MAX_LENGTH}})"|([!#-+\--~]{1,${MAX_LENGTH}}))$`,
);

export const IDEMPOTENCY_KEY_SCHEMA = {
  type: 'string',
  pattern: IDEMPOTENCY_KEY.source,
} as const;

/** The `Idempotency-Key` of the request, or `undefined` (draft-ietf-httpapi-idempotency-key-header). */
export const RequestIdempotencyKey = createParamDecorator((_: unknown, context: ExecutionContext) =>
  idempotencyKeyOf(context.switchToHttp().getRequest<Request>()),
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
    `Idempotency-Key must be one string of 1 to ${MAX_LENGTH} visible ASCII characters`,
  );
}
