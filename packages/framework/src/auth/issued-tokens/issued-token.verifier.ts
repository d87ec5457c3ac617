import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ERRORS } from '../../errors/common-errors.js';
import type { Principal } from '../principal.js';
import { CredentialsError } from '../credentials.error.js';
import type { BearerVerifier } from '../token-verifier.js';
import { matchingSecret } from './known-token.js';
import type { LastUses } from './last-uses.js';
import type { TokenFormat } from './token-format.js';
import type { TokenRegister } from './token-register.js';

const MAX_UNKNOWN = 10_000;

export class IssuedTokenVerifier implements BearerVerifier {
  /** Digests of tokens that a read has not found. A later token has another secret. */
  private readonly unknown = new LRUCache<string, true>({ max: MAX_UNKNOWN });

  constructor(
    private readonly format: TokenFormat,
    private readonly register: Pick<TokenRegister, 'find' | 'readAgain' | 'requireFresh'>,
    private readonly lastUses: Pick<LastUses, 'note'>,
  ) {}

  /** Synchronous for a known token. */
  verify(token: string): Principal | undefined | Promise<Principal> {
    if (!token.startsWith(this.format.prefix)) return undefined;
    const digest = hash('sha256', token, 'base64url');
    const principal = this.principalOf(token, digest);
    if (principal !== undefined) return principal;
    // Only now, because a known token needs no check of its checksum.
    if (!this.format.isWellFormed(token)) throw new CredentialsError('malformed');
    if (this.unknown.has(digest)) throw new CredentialsError('unknown-token');
    return this.readAgain(token, digest);
  }

  /** The token, or its new secret, may have been issued since the last read. */
  private async readAgain(token: string, digest: string): Promise<Principal> {
    await this.register.readAgain();
    const principal = this.principalOf(token, digest);
    if (principal !== undefined) return principal;
    this.unknown.set(digest, true);
    throw new CredentialsError('unknown-token');
  }

  /** @returns `undefined` if the register does not have the token */
  private principalOf(token: string, digest: string): Principal | undefined {
    const known = this.register.find(this.format.idIn(token));
    const secret = known && matchingSecret(known, Buffer.from(digest));
    if (known === undefined || secret === undefined) return undefined;
    if (known.isRevoked) throw new CredentialsError('revoked');
    const now = Date.now();
    // Also if the expiry is not a number.
    if (!(now < secret.expires)) throw new CredentialsError('expired', ERRORS.tokenExpired);
    // Revoked and expired tokens stay so. Only an accepted one may have been revoked since the last read.
    this.register.requireFresh();
    this.lastUses.note(known.principal.id, now);
    return known.principal;
  }
}
