import { hash } from 'node:crypto';
import { decodeProtectedHeader, errors, jwtVerify } from 'jose';
import type { JWTVerifyGetKey, JWTVerifyOptions, JWTVerifyResult } from 'jose';
import { LRUCache } from 'lru-cache';
import type { JwtConfig } from '../config/config.js';
import { ERRORS } from '../errors/common-errors.js';
import { ServiceException } from '../errors/service.exception.js';
import type { IssuerKeys } from './issuer-keys.js';
import { principalOf } from './jwt-principal.js';
import type { Principal } from './principal.js';
import { ScopeList } from './scopes/scope-list.js';
import { CredentialsError } from './credentials.error.js';
import type { CredentialsErrorReason } from './credentials.error.js';
import type { BearerVerifier } from './token-verifier.js';

/** Asymmetric signatures only: a public key must never be used as the secret of an HMAC (RFC 8725, section 3.1). */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/** JWT types of access tokens (RFC 9068, section 2.1). Others, such as ID tokens, are rejected (RFC 8725, section 3.11). */
const TYPES = new Set(['jwt', 'application/jwt', 'at+jwt', 'application/at+jwt']);

const CLAIMS: Readonly<Record<string, CredentialsErrorReason>> = {
  iss: 'issuer',
  aud: 'audience',
  nbf: 'not-yet-valid',
};

/** `each`: the overhead of a token. */
export const REMEMBERED = { tokens: 10_000, bytes: 16 * 1024 * 1024, each: 512 } as const;

interface Remembered {
  readonly principal: Principal;
  readonly expires: number;
}

export class JwtVerifier implements BearerVerifier {
  private readonly remembered = new LRUCache<string, Remembered>({
    max: REMEMBERED.tokens,
    maxSize: REMEMBERED.bytes,
    sizeCalculation: ({ principal }) => bytesOf(principal),
  });
  /** The keys that have verified all remembered tokens. */
  private rememberedKeys: object | undefined;

  constructor(
    private readonly expected: Pick<JwtConfig, 'issuer' | 'audience' | 'defaultScopes'>,
    private readonly keys: IssuerKeys,
  ) {}

  verify(token: string): Principal | undefined | Promise<Principal> {
    const digest = hash('sha256', token, 'base64');
    this.forgetOthers(this.keys.current);
    const remembered = this.remembered.get(digest);
    // RFC 7519, section 4.1.4
    if (remembered !== undefined && remembered.expires > Math.floor(Date.now() / 1_000)) {
      return remembered.principal;
    }
    // Base64url without padding (RFC 7515, section 2). The library is less strict.
    return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? this.check(token, digest) : undefined;
  }

  private async check(token: string, digest: string): Promise<Principal> {
    let keys: object | undefined;
    const find: JWTVerifyGetKey = async (...header) => {
      await this.keys.load();
      keys = this.keys.current;
      return this.keys.find(...header);
    };
    try {
      const { protectedHeader, payload } = await this.verifyWithNewKeys(token, find);
      const { typ } = protectedHeader;
      // RFC 7515, section 4.1.9: a media type, whose case does not matter.
      if (typ !== undefined && !(typeof typ === 'string' && TYPES.has(typ.toLowerCase()))) {
        throw new CredentialsError('token-type');
      }
      const principal = principalOf(payload, this.expected.defaultScopes ?? []);
      this.forgetOthers(this.keys.current);
      // Others may have been fetched meanwhile.
      if (keys !== undefined && keys === this.rememberedKeys) {
        this.remembered.set(digest, { principal, expires: Number(payload.exp) });
      }
      return principal;
    } catch (error) {
      if (error instanceof ServiceException) throw error;
      throw rejected(error);
    }
  }

  /** A withdrawn key verifies nothing any more, and each set of keys can be large. */
  private forgetOthers(keys: object | undefined): void {
    if (keys === this.rememberedKeys) return;
    this.remembered.clear();
    this.rememberedKeys = keys;
  }

  /** With the known keys, and if these lack the key of the token, with the newest ones. */
  private async verifyWithNewKeys(token: string, find: JWTVerifyGetKey): Promise<JWTVerifyResult> {
    try {
      return await verifyJwt(token, find, this.options);
    } catch (error) {
      if (!mayHaveNewKey(token, error) || !(await this.keys.renew())) throw error;
      return verifyJwt(token, find, this.options);
    }
  }

  private get options(): JWTVerifyOptions {
    const { issuer, audience } = this.expected;
    return { issuer, audience, algorithms: ALGORITHMS, requiredClaims: ['exp'] };
  }
}

/** An upper bound: V8 stores a character in one or two bytes. */
function bytesOf({ id, name = '', scopes }: Principal): number {
  const characters = scopes instanceof ScopeList ? scopes.length : 0;
  return REMEMBERED.each + 2 * (id.length + name.length + characters);
}

/** A token without a key id may fit several keys during a rotation. Each of them is tried. */
async function verifyJwt(
  token: string,
  find: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, find, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, options);
      } catch (cause) {
        if (!(cause instanceof errors.JWSSignatureVerificationFailed)) throw cause;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function mayHaveNewKey(token: string, error: unknown): boolean {
  if (error instanceof errors.JWKSNoMatchingKey) return true;
  return (
    error instanceof errors.JWSSignatureVerificationFailed &&
    decodeProtectedHeader(token).kid === undefined
  );
}

/** Every error rejects the token. The library throws, for example, a TypeError for weak keys. */
function rejected(error: unknown): CredentialsError {
  if (error instanceof errors.JWTExpired)
    return new CredentialsError('expired', ERRORS.tokenExpired);
  if (error instanceof errors.JWTClaimValidationFailed) {
    return new CredentialsError(CLAIMS[error.claim] ?? 'claims');
  }
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return new CredentialsError('signature');
  if (error instanceof errors.JWKSNoMatchingKey) return new CredentialsError('unknown-key');
  if (error instanceof errors.JOSEAlgNotAllowed) return new CredentialsError('algorithm');
  return new CredentialsError('malformed');
}
