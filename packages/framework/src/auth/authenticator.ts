import { Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { ERRORS } from '../errors/common-errors.js';
import type { Principal } from './principal.js';
import { CredentialsError } from './credentials.error.js';
import { fieldCount } from './field-count.js';
import { BEARER_VERIFIERS, OWN_VERIFIERS } from './token-verifier.js';
import type { BearerVerifier, TokenVerifier } from './token-verifier.js';

@Injectable()
export class Authenticator {
  /** @param own for requests without a bearer token. They are among `verifiers`, too */
  constructor(
    @Inject(BEARER_VERIFIERS) private readonly verifiers: readonly BearerVerifier[],
    @Inject(OWN_VERIFIERS) private readonly own: readonly TokenVerifier[] = [],
  ) {}

  /**
   * Synchronous for credentials whose verifiers need not wait.
   *
   * @throws CredentialsError
   */
  authenticate(request: Request): Principal | Promise<Principal> {
    const token = readBearerToken(request);
    return token === undefined ? this.identify(request) : this.verify(token, request);
  }

  private verify(token: string, request: Request, index = 0): Principal | Promise<Principal> {
    const verifier = this.verifiers[index];
    if (verifier === undefined) throw new CredentialsError('unknown-token');
    const principal = verifier.verify(token, request);
    return principal instanceof Promise
      ? principal.then((verified) => verified ?? this.verify(token, request, index + 1))
      : (principal ?? this.verify(token, request, index + 1));
  }

  private identify(request: Request, index = 0): Principal | Promise<Principal> {
    const verifier = this.own[index];
    if (verifier === undefined) throw new CredentialsError('no-credentials', ERRORS.noCredentials);
    const principal = verifier.verify(undefined, request);
    return principal instanceof Promise
      ? principal.then((verified) => verified ?? this.identify(request, index + 1))
      : (principal ?? this.identify(request, index + 1));
  }
}

/**
 * The bearer token of a request, from the Authorization header only (RFC 6750, section 2.1). Its syntax is not
 * checked, because no verifier accepts a malformed token.
 *
 * @returns `undefined` without the header, and for another scheme
 * @throws CredentialsError for more than one header, and without a token
 */
function readBearerToken(request: Request): string | undefined {
  // Of several, Node.js keeps the first.
  const { authorization: credentials = '' } = request.headers;
  if (fieldCount(request, 'authorization') > 1) {
    throw new CredentialsError(
      'several-headers',
      ERRORS.tokenNotValid,
      'the request must have only one Authorization header',
    );
  }
  const [, scheme = '', token = ''] = /^(\S*) *(.*)$/.exec(credentials) ?? [];
  if (scheme.toLowerCase() !== 'bearer') return undefined;
  if (token === '') throw new CredentialsError('malformed');
  return token;
}
