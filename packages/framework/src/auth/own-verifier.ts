import type { Request } from 'express';
import { isStorableText } from '../database/storable-text.js';
import { CredentialsError } from './credentials.error.js';
import type { Principal } from './principal.js';
import type { TokenVerifier, Verified } from './token-verifier.js';

/** Change records have the kind and the id, separated by a colon. */
const KIND = /^[A-Za-z0-9-]{1,50}$/;

/** In characters, as for a subject of a JWT. */
const MAX_ID = 255;

/** Checks what a verifier of the service returns. */
export class OwnVerifier implements TokenVerifier {
  constructor(private readonly verifier: TokenVerifier) {}

  readonly verify = (token: string | undefined, request: Request): Verified => {
    const verified = this.verifier.verify(token, request);
    return verified instanceof Promise ? verified.then(checked) : checked(verified);
  };
}

/**
 * @throws TypeError for a kind that cannot be in a record
 * @throws CredentialsError for an id that cannot be in a record
 */
function checked(principal: Principal | undefined): Principal | undefined {
  if (principal === undefined) return undefined;
  const { kind, id } = principal;
  if (!KIND.test(kind)) {
    throw new TypeError(`the kind of a principal has letters, digits and hyphens, unlike ${kind}`);
  }
  const isId = typeof id === 'string' && id !== '' && id.length <= MAX_ID && isStorableText(id);
  if (!isId) throw new CredentialsError('claims');
  return principal;
}
