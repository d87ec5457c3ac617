import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from '../../auth/principal.js';
import { needingPrincipal, requirePrincipal } from '../../auth/require-principal.js';

/** The actor of a change, and the request. */
export interface Origin {
  readonly principal: Principal;
  readonly requestId: string;
}

/** The {@link Origin} of the request's changes. The service does not start if a `@Public()` route has it. */
export const RequestOrigin = needingPrincipal(
  '@RequestOrigin()',
  createParamDecorator((_: unknown, context: ExecutionContext): Origin => {
    const request = context.switchToHttp().getRequest<Request>();
    return { principal: requirePrincipal(request), requestId: request.id };
  }),
);

/** @throws TypeError */
export function requireOrigin(origin: Origin | undefined): Origin {
  if (origin !== undefined) return origin;
  throw new TypeError('a change that is recorded needs an origin, and so does an idempotency key');
}

/** The parameters for `actor` of `ChangedRows`. */
export function originParameters({
  principal,
  requestId,
}: Origin): readonly [principal: string, requestId: string] {
  return [`${principal.kind}:${principal.id}`, requestId];
}
