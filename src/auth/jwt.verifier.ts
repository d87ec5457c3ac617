import { errors, jwtVerify } from 'jose';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { IssuerKeys } from './issuer-keys.js';
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

  async verify(token: string): Promise<boolean> {
    // Base64url without padding (RFC 7515, section 2). The library is less strict.
    if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return false;
    try {
      const { protectedHeader } = await jwtVerify(token, this.keys.resolve, {
        issuer: this.expected.issuer,
        audience: this.expected.audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['exp'],
      });
      const { typ } = protectedHeader;
      return typ === undefined || (typeof typ === 'string' && TYPES.has(typ.toLowerCase()));
    } catch (error) {
      if (error instanceof PlantStoreError) throw error;
      if (error instanceof errors.JWTExpired) throw new PlantStoreError('token-expired');
      // Every other error refuses the token. The library throws, for example, a TypeError for weak keys.
      return false;
    }
  }
}
