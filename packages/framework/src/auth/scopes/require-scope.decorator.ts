import { applyDecorators } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import { isRequirableScope } from '../../config/variable-types.js';
import type { Scope } from '../principal.js';

export const REQUIRED_SCOPES = Reflector.createDecorator<readonly Scope[]>();

/**
 * Declares the scope that a route requires. The guard rejects other requests, and the OpenAPI document has the scope
 * in the field `x-required-scope` of the operation: OpenAPI 3.1 would allow it in `security`, but linters expect
 * scopes there only for OAuth. The service does not start if a route has neither this decorator nor `@Public()`.
 *
 * @param others each of them is enough, too: the field is then a list
 * @throws TypeError if a text cannot be a scope of a token
 *
 * @example
 * @Get()
 * @RequireScope('bookings:read', 'bookings:approve')
 */
export function RequireScope(scope: Scope, ...others: readonly Scope[]): MethodDecorator {
  const scopes = [scope, ...others];
  const wrong = scopes.find((each) => !isRequirableScope(each));
  if (wrong !== undefined) {
    throw new TypeError(
      `@RequireScope(${JSON.stringify(wrong)}): a scope consists of printable ASCII characters without spaces, commas, quotation ` +
        'marks and backslashes, such as tools:lend (RFC 6749, section 3.3)',
    );
  }
  return applyDecorators(
    REQUIRED_SCOPES(scopes),
    ApiExtension('x-required-scope', others.length === 0 ? scope : scopes),
  );
}
