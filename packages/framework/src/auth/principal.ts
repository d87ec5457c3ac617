/** What a request may do with a resource, such as `tools:read` or `tools:lend`. */
export type Scope = `${string}:${string}`;

/** Who sends a request. */
export interface Principal {
  readonly kind: 'static-token' | 'issued-token' | 'jwt';
  /** Stays the same for as long as the principal exists. Unique among principals of the same kind, and never a secret. */
  readonly id: string;
  /** A name for people to read. */
  readonly name?: string | undefined;
  readonly scopes: 'all' | ReadonlySet<string>;
}

export function hasScope({ scopes }: Principal, scope: Scope): boolean {
  return scopes === 'all' || scopes.has(scope);
}
