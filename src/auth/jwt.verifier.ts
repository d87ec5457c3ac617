import { errors, jwtVerify } from 'jose';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { IssuerKeys } from './issuer-keys.js';
import type { TokenVerifier } from './token-verifier.js';

/** Asymmetric signatures only: a public key must never serve as the secret of an HMAC (RFC 8725, section 3.1). */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** Types of JWTs that are access tokens (RFC 9068, section 2.1); other kinds must not pass as one (RFC 8725, section 3.11). */
const TYPES = new Set(['jwt', 'application/jwt', 'at+jwt', 'application/at+jwt']);

/** Knows the JWTs that one issuer has signed for one audience. */
export class JwtVerifier implements TokenVerifier {
  constructor(
    private readonly expected: { readonly issuer: string; readonly audience: string },
    private readonly keys: IssuerKeys,
  ) {}

  async verify(token: string): Promise<boolean> {
    // Base64url without padding (RFC 7515, section 2), which the library does not insist on.
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
      // Whatever else is wrong with a token, its bearer stays outside. The library's reasons include
      // a TypeError for keys that are too weak.
      return false;
    }
  }
}
