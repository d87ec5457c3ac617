import { applyDecorators } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import type { Scope } from './principal.js';

/** The scope of a route. */
export const REQUIRED_SCOPE = Reflector.createDecorator<Scope>();

/**
 * Declares which scope a request needs for a route. The guard refuses other requests, and the OpenAPI document has the
 * scope in the member `x-required-scope` of the operation. OpenAPI 3.1 would allow it in `security`, but linters expect
 * scopes there only for OAuth. The service does not start if a route has neither this decorator nor `@Public()`.
 */
export function RequireScope(scope: Scope): MethodDecorator {
  return applyDecorators(REQUIRED_SCOPE(scope), ApiExtension('x-required-scope', scope));
}
