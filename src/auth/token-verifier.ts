/** Recognises one kind of bearer token. */
export interface TokenVerifier {
  /**
   * Whether the token lets its bearer in.
   *
   * @throws PlantStoreError `token-expired`, or `token-issuer-unavailable` when it cannot be told
   */
  verify(token: string): Promise<boolean> | boolean;
}

/** Injection token of the verifiers, which are asked in turn. */
export const TOKEN_VERIFIERS = Symbol('TOKEN_VERIFIERS');
