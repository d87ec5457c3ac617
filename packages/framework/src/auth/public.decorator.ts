import { Reflector } from '@nestjs/core';

/** Set on a route that needs no token. */
export const IS_PUBLIC = Reflector.createDecorator<boolean>();

/**
 * Serves a route without a token, such as a login or the receiver of a webhook. The guard does not look at a token that is sent
 * all the same, so the request has no principal: the service does not start if the route has `@RequireScope()`,
 * `@RequestOrigin()` or `@RequestIdempotencyKey()`, too. The OpenAPI document says `security: []`.
 */
export function Public(): MethodDecorator {
  return IS_PUBLIC(true);
}
