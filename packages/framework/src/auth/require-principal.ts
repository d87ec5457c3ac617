import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import type { Principal } from './principal.js';

/** Names of the parameter decorators of a route that need a principal. */
export const PRINCIPAL_NEEDED_BY = Reflector.createDecorator<readonly string[]>();

/** @throws TypeError on a `@Public()` route: its requests have no principal */
export function requirePrincipal({ principal }: Pick<Request, 'principal'>): Principal {
  if (principal === undefined) throw new TypeError('the request has no principal');
  return principal;
}

/**
 * Wraps a parameter decorator that needs a principal: the service does not start if a `@Public()` route uses it.
 *
 * @param name as in the source, such as `@RequestActor()`
 */
export function needingPrincipal<Parameters extends readonly unknown[]>(
  name: string,
  decorator: (...parameters: Parameters) => ParameterDecorator,
): (...parameters: Parameters) => ParameterDecorator {
  return (...parameters) =>
    (target, property, index) => {
      decorator(...parameters)(target, property, index);
      // The parameter of a constructor has no property, and belongs to no route.
      const handler: unknown = property && Reflect.get(target, property);
      if (typeof handler !== 'function') return;
      const { KEY } = PRINCIPAL_NEEDED_BY;
      const others = (Reflect.getOwnMetadata(KEY, handler) ?? []) as readonly string[];
      Reflect.defineMetadata(KEY, [...others, name], handler);
    };
}
