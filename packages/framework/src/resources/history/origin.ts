import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from '../../auth/principal.js';

/** Where a change comes from. */
export interface Origin {
  readonly principal: Principal;
  readonly requestId: string;
}

/** The {@link Origin} of what the request changes. */
export const RequestOrigin = createParamDecorator(
  (_: unknown, context: ExecutionContext): Origin => {
    const { principal, id } = context.switchToHttp().getRequest<Request>();
    // The guard has set it: no route is without.
    return { principal: principal!, requestId: id };
  },
);

/** @throws TypeError */
export function requireOrigin(origin: Origin | undefined): Origin {
  if (origin === undefined)
    throw new TypeError(
      'a change that is recorded needs an origin, and so does an idempotency key',
    );
  return origin;
}
