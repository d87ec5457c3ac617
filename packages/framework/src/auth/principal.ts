/** A permission on a resource, such as `tools:read` or `tools:lend`. */
export type Scope = `${string}:${string}`;

/**
 * The sender of a request, in `request.principal`.
 *
 * @example const student: Principal = { kind: 'lab', id: 'ada', scopes: new Set(['bookings:read']) };
 */
export interface Principal {
  /**
   * `static-token`, `issued-token`, `jwt`, or what a {@link TokenVerifier} of the service says: letters, digits and hyphens, such as
   * `lab`. `system` is for {@link Actor.system}.
   */
  readonly kind: string;
  /** Never changes. Unique among principals of one kind, and never a secret. At most 255 characters. */
  readonly id: string;
  /** For people to read. */
  readonly name?: string | undefined;
  readonly scopes: 'all' | ReadonlySet<string>;
}

/**
 * Whether a token has a scope, for what a route does only for some of its clients.
 *
 * @example const isApprover = hasScope(principal, 'bookings:approve');
 */
export function hasScope({ scopes }: Pick<Principal, 'scopes'>, scope: Scope): boolean {
  return scopes === 'all' || scopes.has(scope);
}
