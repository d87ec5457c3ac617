import { timingSafeEqual } from 'node:crypto';
import type { Principal } from './principal.js';
import { digest } from './static-tokens.js';
import type { StaticTokens } from './static-tokens.js';
import type { TokenVerifier } from './token-verifier.js';

/** Two principals, so that the log tells whether the previous token is still in use. */
const CURRENT: Principal = { kind: 'static-token', id: 'AUTH_TOKEN', scopes: 'all' };
const PREVIOUS: Principal = { kind: 'static-token', id: 'AUTH_TOKEN_PREVIOUS', scopes: 'all' };

/** Verifies the tokens of `AUTH_TOKEN` and `AUTH_TOKEN_PREVIOUS`, which have every scope. */
export class StaticTokenVerifier implements TokenVerifier {
  constructor(private readonly tokens: Pick<StaticTokens, 'digests'>) {}

  /** Compares digests in constant time, and always both, so that the time reveals neither content nor length. */
  verify(token: string): Principal | undefined {
    const given = digest(token);
    const [current, previous] = this.tokens.digests;
    const isCurrent = timingSafeEqual(given, current);
    const isPrevious = timingSafeEqual(given, previous);
    if (isCurrent) return CURRENT;
    return isPrevious ? PREVIOUS : undefined;
  }
}
