import { Reflector } from '@nestjs/core';

export const IS_PUBLIC = Reflector.createDecorator<boolean>();

/**
 * Serves a route without a token, such as a login or the receiver of a webhook. The guard ignores a token, so the
 * request has no principal: the service does not start if the route also has `@RequireScope()`, `@RequestActor()` or
 * `@RequestIdempotencyKey()`. The OpenAPI document says `security: []`.
 *
 * @example
 * @Public()
 * @Post('sign-in')
 */
export function Public(): MethodDecorator {
  return IS_PUBLIC(true);
}
