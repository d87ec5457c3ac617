import type { Principal } from './principal.js';

/** Verifies one kind of bearer token. */
export interface TokenVerifier {
  /**
   * @param token as the client sent it, with an unchecked syntax
   * @returns `undefined` if the token is of another kind
   * @throws CredentialsError if the token is of this kind, but not valid
   * @throws ServiceException `token-issuer-unavailable` if the token cannot be verified
   */
  verify(token: string): Principal | undefined | Promise<Principal | undefined>;
}

export const TOKEN_VERIFIERS = Symbol('TOKEN_VERIFIERS');
