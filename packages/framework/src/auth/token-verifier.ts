import type { Request } from 'express';
import type { Principal } from './principal.js';

/** `undefined`: the credentials are of another kind. */
export type Verified = Principal | undefined | Promise<Principal | undefined>;

export interface BearerVerifier {
  /**
   * @param token as the client sent it, with an unchecked syntax
   * @throws CredentialsError if the token is of this kind, but not valid
   * @throws ServiceException `token-issuer-unavailable` if the token cannot be verified
   */
  verify(token: string, request: Request): Verified;
}

/**
 * Verifies credentials that only this service knows: a token of an own login, a session in a table, a header field of a trusted proxy.
 * Scopes, rate limit, change records and long responses work as with other tokens.
 *
 * @example
 * export class SessionVerifier implements TokenVerifier {
 *   constructor(private readonly sessions: SessionsService) {}
 *
 *   async verify(token: string | undefined): Promise<Principal | undefined> {
 *     const session = token && (await this.sessions.find(token));
 *     return session ? { kind: 'session', id: session.user, scopes: new Set(session.scopes) } : undefined;
 *   }
 * }
 *
 * FrameworkModule.forRoot(IDENTITY, { auth: { imports: [SessionsModule], verifiers: [SessionVerifier] } });
 */
export interface TokenVerifier {
  /**
   * Called for each request to a route that is not `@Public()`, and about once a second while such a request lasts. Static and issued
   * tokens do not reach it. A JWT does, before the verification with the keys of `AUTH_JWT_ISSUER`.
   *
   * @param token of the `Authorization` header field, or `undefined` if the request has no bearer token
   * @returns `undefined` if the credentials are of another kind, or unknown. When no verifier knows them, the response is 401
   * @throws ServiceException with `ERRORS.tokenExpired` or `ERRORS.tokenNotValid` if the credentials are of this kind, but not valid
   */
  // Not a method: a class whose `verify` expects a token for each request does not compile.
  readonly verify: (token: string | undefined, request: Request) => Verified;
}

export const BEARER_VERIFIERS = Symbol('BEARER_VERIFIERS');

export const OWN_VERIFIERS = Symbol('OWN_VERIFIERS');
