import type { JWTPayload } from 'jose';
import { isStorableText } from '../database/storable-text.js';
import type { Principal } from './principal.js';
import { CredentialsError } from './credentials.error.js';
import { ScopeList } from './scopes/scope-list.js';

/** Of a subject (OpenID Connect Core 1.0, section 2), and so of a name as well. */
const MAX_LENGTH = 255;

const CLIENT = 'client_id:';

/** The prefix of a subject that could otherwise be taken for the id of a client, or for another such subject. */
const SUBJECT = 'sub:';

const LIKE_CLIENT = new RegExp(`^(?:${SUBJECT})*${CLIENT}`);

/**
 * @param defaultScopes of a token without a claim about scopes
 * @throws CredentialsError for claims that identify nobody, are of another type, too long, or no text that PostgreSQL
 *   can hold
 */
export function principalOf(payload: JWTPayload, defaultScopes: readonly string[]): Principal {
  const { name, preferred_username: username } = payload;
  const id = idOf(payload);
  const shown = [name, username].find((claim) => typeof claim === 'string');
  return {
    kind: 'jwt',
    id,
    name: shown === undefined ? undefined : beginningOf(shown),
    scopes: new ScopeList(scopesOf(payload) ?? defaultScopes),
  };
}

/** A copy: in V8, a slice keeps the whole text in memory. */
function beginningOf(text: string): string {
  return Buffer.from(text.slice(0, MAX_LENGTH), 'utf16le').toString('utf16le');
}

/**
 * The subject, which RFC 9068, section 2.2, requires. Issuers that leave it out without a user name the client
 * instead, in `client_id` or `azp`. A client is another principal than a subject with an equal text.
 */
function idOf({ sub, client_id: clientId, azp }: JWTPayload): string {
  if (sub === undefined) return CLIENT + requireId(clientId === undefined ? azp : clientId);
  const subject = requireId(sub);
  return LIKE_CLIENT.test(subject) ? SUBJECT + subject : subject;
}

/** PostgreSQL must hold it, in change records. Different users without a visible id would share one. */
function requireId(claim: unknown): string {
  const isId =
    typeof claim === 'string' &&
    claim.trim() !== '' &&
    claim.length <= MAX_LENGTH &&
    isStorableText(claim);
  if (!isId) throw new CredentialsError('claims');
  return claim;
}

/** The claim `scope` (RFC 8693, section 4.2: separated by spaces), or `scp`, which some issuers write as a list. */
function scopesOf({ scope, scp }: JWTPayload): readonly string[] | undefined {
  const claim = scope ?? scp;
  if (claim === undefined) return undefined;
  if (typeof claim === 'string') return claim.split(' ');
  if (Array.isArray(claim)) return claim.filter((word) => typeof word === 'string');
  throw new CredentialsError('claims');
}
