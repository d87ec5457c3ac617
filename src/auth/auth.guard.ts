import { Inject, Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { TOKEN_VERIFIERS } from './token-verifier.js';
import type { TokenVerifier } from './token-verifier.js';

/** Requires a valid token for every operation. A controller cannot opt out. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(@Inject(TOKEN_VERIFIERS) private readonly verifiers: readonly TokenVerifier[]) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const note = (isAuthenticated: boolean) => (request.isAuthenticated = isAuthenticated);
    const isValid = this.verify(readBearerToken(request));
    return typeof isValid === 'boolean' ? note(isValid) : isValid.then(note);
  }

  /** Asks the verifiers in turn. Synchronous for the static token, so that the hot path does not wait. */
  private verify(
    token: string,
    [verifier, ...others]: readonly TokenVerifier[] = this.verifiers,
  ): boolean | Promise<boolean> {
    if (verifier === undefined) throw new PlantStoreError(ERRORS.tokenNotValid);
    const isValid = verifier.verify(token);
    if (typeof isValid === 'boolean') return isValid || this.verify(token, others);
    return isValid.then((valid) => valid || this.verify(token, others));
  }
}

/**
 * The bearer token of a request, from the Authorization header only (RFC 6750, section 2.1). Its syntax is not checked,
 * because no verifier accepts a malformed token.
 *
 * @throws PlantStoreError `no-credentials` without the header or for another scheme, `token-not-valid` for more than
 * one header and without a token
 */
function readBearerToken(request: Request): string {
  const [credentials = '', ...others] = request.headersDistinct['authorization'] ?? [];
  if (others.length > 0) {
    throw new PlantStoreError(
      ERRORS.tokenNotValid,
      'the request must have only one Authorization header',
    );
  }
  const [, scheme = '', token = ''] = /^(\S*) *(.*)$/.exec(credentials) ?? [];
  if (scheme.toLowerCase() !== 'bearer') throw new PlantStoreError(ERRORS.noCredentials);
  if (token === '') throw new PlantStoreError(ERRORS.tokenNotValid);
  return token;
}
