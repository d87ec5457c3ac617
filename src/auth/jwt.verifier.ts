import { hash } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import type { JWTVerifyGetKey } from 'jose';
import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { IssuerKeys, KeySet } from './issuer-keys.js';
import type { TokenVerifier } from './token-verifier.js';

/** Asymmetric signatures only: a public key must never be used as the secret of an HMAC (RFC 8725, section 3.1). */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/** JWT types of access tokens (RFC 9068, section 2.1). Other types, such as ID tokens, are refused (RFC 8725, section 3.11). */
const TYPES = new Set(['jwt', 'application/jwt', 'at+jwt', 'application/at+jwt']);

/** Verifies JWTs of one issuer for one audience. */
export class JwtVerifier implements TokenVerifier {
  constructor(
    private readonly expected: { readonly issuer: string; readonly audience: string },
    private readonly keys: IssuerKeys,
  ) {}

  verify(token: string): Promise<boolean> | boolean {
    const digest = hash('sha256', token, 'base64');
    const expires = this.keys.current?.remembered.get(digest);
    // RFC 7519, section 4.1.4
    if (expires !== undefined && expires > Math.floor(Date.now() / 1_000)) return true;
    return this.check(token, digest);
  }

  private async check(token: string, digest: string): Promise<boolean> {
    // Base64url without padding (RFC 7515, section 2). The library is less strict.
    if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return false;
    try {
      let keys: KeySet | undefined;
      const find: JWTVerifyGetKey = async (...header) => {
        const found = await this.keys.find(...header);
        keys = found.keys;
        return found.key;
      };
      const { protectedHeader, payload } = await jwtVerify(token, find, {
        issuer: this.expected.issuer,
        audience: this.expected.audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['exp'],
      });
      const { typ } = protectedHeader;
      const isAccessToken =
        typ === undefined || (typeof typ === 'string' && TYPES.has(typ.toLowerCase()));
      if (isAccessToken) keys?.remembered.set(digest, Number(payload.exp));
      return isAccessToken;
    } catch (error) {
      if (error instanceof PlantStoreError) throw error;
      if (error instanceof errors.JWTExpired) throw new PlantStoreError(ERRORS.tokenExpired);
      // Every other error refuses the token. The library throws, for example, a TypeError for weak keys.
      return false;
    }
  }
}
