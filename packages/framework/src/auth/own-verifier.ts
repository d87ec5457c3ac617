import { setTimeout as sleep } from 'node:timers/promises';
import type { Request } from 'express';
import { isStorableText } from '../database/storable-text.js';
import { ERRORS } from '../errors/common-errors.js';
import { ServiceException } from '../errors/service.exception.js';
import { CredentialsError } from './credentials.error.js';
import type { Principal } from './principal.js';
import type { TokenVerifier, Verified } from './token-verifier.js';

/** Change records have the kind and the id, separated by a colon. */
const KIND = /^[A-Za-z0-9-]{1,50}$/;

/** The framework decides by these whose idempotency keys, limits and change records they are. */
const RESERVED: ReadonlySet<unknown> = new Set(['static-token', 'issued-token', 'jwt', 'system']);

/** In characters, as for a subject of a JWT. */
const MAX_ID = 255;

/** In milliseconds, as for the keys of a token issuer. */
const TIMEOUT = 3_000;

/** Checks what a verifier of the service returns, and waits for it no longer than the timeout. */
export class OwnVerifier implements TokenVerifier {
  constructor(
    private readonly verifier: TokenVerifier,
    private readonly timeout = TIMEOUT,
  ) {}

  readonly verify = (token: string | undefined, request: Request): Verified => {
    const verified = this.verifier.verify(token, request);
    return verified instanceof Promise
      ? within(this.timeout, verified).then(checked)
      : checked(verified);
  };
}

/** @throws ServiceException `token-issuer-unavailable` */
async function within<Value>(milliseconds: number, work: Promise<Value>): Promise<Value> {
  const ended = new AbortController();
  const late = sleep(milliseconds, undefined, { signal: ended.signal }).then(() => {
    throw new ServiceException(ERRORS.tokenIssuerUnavailable);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    ended.abort();
  }
}

/**
 * @throws TypeError for a kind that cannot be in a record
 * @throws CredentialsError for an id that cannot be in a record
 */
function checked(principal: Principal | undefined): Principal | undefined {
  if (principal === undefined) return undefined;
  const { kind, id } = principal;
  if (typeof kind !== 'string' || !KIND.test(kind) || RESERVED.has(kind)) {
    throw new TypeError(
      `the kind of a principal has letters, digits and hyphens, and is none of the framework's, unlike ${kind}`,
    );
  }
  const isId = typeof id === 'string' && id !== '' && id.length <= MAX_ID && isStorableText(id);
  if (!isId) throw new CredentialsError('claims');
  return principal;
}
