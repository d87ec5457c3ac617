import { timingSafeEqual } from 'node:crypto';
import type { Principal } from '../principal.js';
import type { AccessToken } from './access-token.entity.js';

/**
 * The columns for the verification. The database decides what null means in its columns: here, a missing value
 * permits nothing. Times are seconds since 1970 as text, and infinite for never. No setting changes how PostgreSQL
 * writes such numbers.
 */
export interface TokenRow extends Pick<
  AccessToken,
  'id' | 'name' | 'scopes' | 'secretHash' | 'previousHash'
> {
  readonly isUnrevoked: boolean;
  readonly expires: string;
  readonly previousExpires: string;
}

export const TOKEN_COLUMNS = `id, name, scopes, secret_hash AS "secretHash", previous_hash AS "previousHash",
  revoked_at IS NULL AS "isUnrevoked",
  extract(epoch FROM coalesce(expires_at, 'infinity'))::text AS expires,
  extract(epoch FROM coalesce(previous_expires_at, '-infinity'))::text AS "previousExpires"`;

const HASH_BYTES = 32;

/** By the digest of the token with it. Expires at a time of `Date.now()`. */
interface KnownSecret {
  readonly digest: Buffer;
  readonly expires: number;
}

export interface KnownToken {
  readonly principal: Principal;
  readonly isRevoked: boolean;
  /** The current one, then the one before the last rotation. */
  readonly secrets: readonly KnownSecret[];
}

/** Never throws, so that an invalid row does not keep the others from being read. */
export function knownToken(row: TokenRow): KnownToken {
  const { id, name, scopes, secretHash, expires, previousHash, previousExpires } = row;
  return {
    principal: { kind: 'issued-token', id, name, scopes: new Set(scopes) },
    isRevoked: !row.isUnrevoked,
    secrets: [...knownSecret(secretHash, expires), ...knownSecret(previousHash, previousExpires)],
  };
}

/** Empty unless the hash has the 32 bytes of SHA-256. */
function knownSecret(hash: Buffer | null, expires: string): readonly KnownSecret[] {
  if (hash?.length !== HASH_BYTES) return [];
  // As text, like the digests that it is compared with (static-token.verifier.ts).
  const digest = Buffer.from(hash.toString('base64url'));
  return [{ digest, expires: Number(expires) * 1_000 }];
}

/** Compares in constant time. */
export function matchingSecret({ secrets }: KnownToken, digest: Buffer): KnownSecret | undefined {
  return secrets.find((secret) => timingSafeEqual(secret.digest, digest));
}
