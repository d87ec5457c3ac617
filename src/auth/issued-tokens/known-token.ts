import { timingSafeEqual } from 'node:crypto';
import type { Principal } from '../principal.js';
import type { AccessToken } from './access-token.entity.js';

/** What the verification reads of a row. */
export type TokenRow = Pick<
  AccessToken,
  | 'id'
  | 'name'
  | 'scopes'
  | 'secretHash'
  | 'previousHash'
  | 'previousExpiresAt'
  | 'expiresAt'
  | 'revokedAt'
>;

/** A secret, by the digest of the token with it. Expires at a time of `Date.now()`. */
interface KnownSecret {
  readonly digest: Buffer;
  readonly expires: number;
}

/** A token that the service keeps in memory. */
export interface KnownToken {
  readonly principal: Principal;
  readonly isRevoked: boolean;
  /** The current one, then the one before the last rotation. */
  readonly secrets: readonly KnownSecret[];
}

export function knownToken(row: TokenRow): KnownToken {
  const { id, name, scopes, expiresAt, revokedAt, previousHash, previousExpiresAt } = row;
  const secrets = [{ digest: digestOf(row.secretHash), expires: expiresAt?.getTime() ?? Infinity }];
  if (previousHash !== null && previousExpiresAt !== null) {
    secrets.push({ digest: digestOf(previousHash), expires: previousExpiresAt.getTime() });
  }
  return {
    principal: { kind: 'issued-token', id, name, scopes: new Set(scopes) },
    isRevoked: revokedAt !== null,
    secrets,
  };
}

/** The secret with this digest. Compares in constant time. */
export function secretOf({ secrets }: KnownToken, digest: Buffer): KnownSecret | undefined {
  return secrets.find((secret) => timingSafeEqual(secret.digest, digest));
}

/** As text, like the digests that it is compared with (static-token.verifier.ts). */
function digestOf(hash: Buffer): Buffer {
  return Buffer.from(hash.toString('base64url'));
}
