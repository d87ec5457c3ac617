/** Verifies one kind of bearer token. */
export interface TokenVerifier {
  /**
   * Whether the token is valid.
   *
   * @param token what the client sent, whose syntax nothing has checked
   * @throws PlantStoreError `token-expired`, or `token-issuer-unavailable` if the token cannot be verified
   */
  verify(token: string): Promise<boolean> | boolean;
}

/** Injection token of the list of verifiers. */
export const TOKEN_VERIFIERS = Symbol('TOKEN_VERIFIERS');
