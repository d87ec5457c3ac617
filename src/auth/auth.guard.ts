import { Inject, Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { ERRORS } from '../errors/common-errors.js';
import { Metrics } from '../observability/metrics.js';
import { hasScope } from './principal.js';
import type { Principal, Scope } from './principal.js';
import { InsufficientScopeError, REFUSALS, RefusedError } from './refusal.js';
import { REQUIRED_SCOPE } from './require-scope.decorator.js';
import { TOKEN_VERIFIERS } from './token-verifier.js';
import type { TokenVerifier } from './token-verifier.js';

/** Requires a valid token with the scope of the route for every operation. A controller cannot opt out. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    @Inject(TOKEN_VERIFIERS) private readonly verifiers: readonly TokenVerifier[],
    private readonly reflector: Reflector,
    private readonly metrics: Metrics,
  ) {
    metrics.expectRefusedCredentials(REFUSALS);
  }

  canActivate(context: ExecutionContext): true | Promise<true> {
    const request = context.switchToHttp().getRequest<Request>();
    const scope = this.reflector.get(REQUIRED_SCOPE, context.getHandler());
    try {
      const principal = this.verify(readBearerToken(request));
      return principal instanceof Promise
        ? principal
            .then((verified) => admit(request, verified, scope))
            .catch((failure: unknown) => this.refuse(request, failure))
        : admit(request, principal, scope);
    } catch (failure) {
      return this.refuse(request, failure);
    }
  }

  /** Asks the verifiers in turn. Synchronous for the static token, so that the hot path does not wait. */
  private verify(
    token: string,
    [verifier, ...others]: readonly TokenVerifier[] = this.verifiers,
  ): Principal | Promise<Principal> {
    if (verifier === undefined) throw new RefusedError('unknown-token');
    const principal = verifier.verify(token);
    return principal instanceof Promise
      ? principal.then((verified) => verified ?? this.verify(token, others))
      : (principal ?? this.verify(token, others));
  }

  private refuse(request: Request, failure: unknown): never {
    if (failure instanceof RefusedError) {
      request.refusal = failure.refusal;
      this.metrics.recordRefusedCredentials(failure.refusal);
    }
    throw failure;
  }
}

function admit(request: Request, principal: Principal, scope: Scope): true {
  request.principal = principal;
  if (!hasScope(principal, scope)) throw new InsufficientScopeError(scope);
  return true;
}

/**
 * The bearer token of a request, from the Authorization header only (RFC 6750, section 2.1). Its syntax is not checked,
 * because no verifier accepts a malformed token.
 *
 * @throws RefusedError without the header, for another scheme, for more than one header, and without a token
 */
function readBearerToken(request: Request): string {
  const [credentials = '', ...others] = request.headersDistinct['authorization'] ?? [];
  if (others.length > 0) {
    throw new RefusedError(
      'several-headers',
      ERRORS.tokenNotValid,
      'the request must have only one Authorization header',
    );
  }
  const [, scheme = '', token = ''] = /^(\S*) *(.*)$/.exec(credentials) ?? [];
  if (scheme.toLowerCase() !== 'bearer')
    throw new RefusedError('no-credentials', ERRORS.noCredentials);
  if (token === '') throw new RefusedError('malformed');
  return token;
}
