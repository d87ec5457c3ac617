import type { JWTPayload } from 'jose';
import type { Principal } from './principal.js';
import { CredentialsError } from './credentials.error.js';
import { ScopeList } from './scope-list.js';

/** Longest subject (OpenID Connect Core 1.0, section 2), and so longest name as well. */
const MAX_LENGTH = 255;

/**
 * The principal of a verified JWT: its subject, or the client if it has none (RFC 9068, section 2.2).
 *
 * @param defaultScopes of a token without a claim about scopes
 * @throws CredentialsError for claims that are of another type, too long, or no text that PostgreSQL can hold
 */
export function principalOf(payload: JWTPayload, defaultScopes: readonly string[]): Principal {
  const { sub, client_id: clientId, azp, name, preferred_username: username } = payload;
  const id = [sub, clientId, azp].find((claim) => claim !== undefined) ?? '';
  if (typeof id !== 'string' || id.length > MAX_LENGTH || !isStorable(id)) {
    throw new CredentialsError('claims');
  }
  const shown = [name, username].find((claim) => typeof claim === 'string');
  return {
    kind: 'jwt',
    id,
    name: shown === undefined ? undefined : beginningOf(shown),
    scopes: new ScopeList(scopesOf(payload) ?? defaultScopes),
  };
}

/** A copy: in V8, a part of a text keeps the whole text in memory. */
function beginningOf(text: string): string {
  return Buffer.from(text.slice(0, MAX_LENGTH), 'utf16le').toString('utf16le');
}

/** PostgreSQL must hold it, in the records of changes. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** The claim `scope` (RFC 8693, section 4.2: separated by spaces), or `scp`, which some issuers write as a list. */
function scopesOf({ scope, scp }: JWTPayload): readonly string[] | undefined {
  const claim = scope ?? scp;
  if (claim === undefined) return undefined;
  if (typeof claim === 'string') return claim.split(' ');
  if (Array.isArray(claim)) return claim.filter((word) => typeof word === 'string');
  throw new CredentialsError('claims');
}
