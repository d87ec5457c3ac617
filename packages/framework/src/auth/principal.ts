/** A permission on a resource, such as `tools:read` or `tools:lend`. */
export type Scope = `${string}:${string}`;

/** The sender of a request. */
export interface Principal {
  readonly kind: 'static-token' | 'issued-token' | 'jwt';
  /** Never changes. Unique among principals of one kind, and never a secret. */
  readonly id: string;
  /** For people to read. */
  readonly name?: string | undefined;
  readonly scopes: 'all' | ReadonlySet<string>;
}
