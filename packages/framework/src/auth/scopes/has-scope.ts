import type { Principal, Scope } from '../principal.js';

/**
 * Whether a token has a scope, for what a route does only for some of its clients.
 *
 * ```ts
 * const isApprover = hasScope(principal, 'bookings:approve');
 * ```
 */
export function hasScope({ scopes }: Pick<Principal, 'scopes'>, scope: Scope): boolean {
  return scopes === 'all' || scopes.has(scope);
}
