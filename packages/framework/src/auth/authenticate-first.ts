import type { CanActivate, INestApplication } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';
import { AuthGuard } from './auth.guard.js';

/**
 * Puts authentication before all other global guards, so that they see the principal, and see no request without a valid token. Nest
 * runs them in the order in which it finds them: those of the service first, because its modules import the framework. Guards of a
 * narrower scope, and those that are made for each request, come after them anyway.
 *
 * @throws TypeError if it is not the first then: the service must not start
 */
export function authenticateFirst(app: INestApplication): void {
  const { config } = app as unknown as { readonly config: ApplicationConfig };
  config.getGlobalGuards().sort((one, other) => rank(one) - rank(other));
  const [first] = config.getGlobalGuards();
  if (!(first instanceof AuthGuard)) throw new TypeError('authentication is not the first guard');
}

function rank(guard: CanActivate): number {
  return guard instanceof AuthGuard ? 0 : 1;
}
