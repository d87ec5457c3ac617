import type { Principal } from './principal.js';

/** Verifies one kind of bearer token. */
export interface TokenVerifier {
  /**
   * Tells whom a token stands for.
   *
   * @param token what the client sent, whose syntax nothing has checked
   * @returns `undefined` if the token is of another kind
   * @throws CredentialsError if the token is of this kind, but not valid
   * @throws ServiceException `token-issuer-unavailable` if the token cannot be verified
   */
  verify(token: string): Principal | undefined | Promise<Principal | undefined>;
}

/** Injection token of the list of verifiers. */
export const TOKEN_VERIFIERS = Symbol('TOKEN_VERIFIERS');
