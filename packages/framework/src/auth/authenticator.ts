import { Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { ERRORS } from '../errors/common-errors.js';
import type { Principal } from './principal.js';
import { CredentialsError } from './credentials.error.js';
import { fieldCount } from './field-count.js';
import { TOKEN_VERIFIERS } from './token-verifier.js';
import type { TokenVerifier } from './token-verifier.js';

/** Finds the principal of a request. */
@Injectable()
export class Authenticator {
  constructor(@Inject(TOKEN_VERIFIERS) private readonly verifiers: readonly TokenVerifier[]) {}

  /**
   * Synchronous for tokens whose verifiers need not wait.
   *
   * @throws CredentialsError
   */
  authenticate(request: Request): Principal | Promise<Principal> {
    return this.verify(readBearerToken(request));
  }

  private verify(
    token: string,
    [verifier, ...others]: readonly TokenVerifier[] = this.verifiers,
  ): Principal | Promise<Principal> {
    if (verifier === undefined) throw new CredentialsError('unknown-token');
    const principal = verifier.verify(token);
    return principal instanceof Promise
      ? principal.then((verified) => verified ?? this.verify(token, others))
      : (principal ?? this.verify(token, others));
  }
}

/**
 * The bearer token of a request, from the Authorization header only (RFC 6750, section 2.1). Its syntax is not
 * checked, because no verifier accepts a malformed token.
 *
 * @throws CredentialsError without the header, for another scheme, for more than one header, and without a token
 */
function readBearerToken(request: Request): string {
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
  if (scheme.toLowerCase() !== 'bearer')
    throw new CredentialsError('no-credentials', ERRORS.noCredentials);
  if (token === '') throw new CredentialsError('malformed');
  return token;
}
