import { Inject, Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { ERRORS } from '../errors/common-errors.js';
import { Metrics } from '../observability/metrics.js';
import { hasScope } from './principal.js';
import type { Principal, Scope } from './principal.js';
import { rateLimitFields } from './rate-limit-fields.js';
import { RateLimits } from './rate-limits.js';
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
    private readonly limits: RateLimits,
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
            .then((verified) => this.admit(request, verified, scope))
            .catch((failure: unknown) => this.refuse(request, failure))
        : this.admit(request, principal, scope);
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

  private admit(request: Request, principal: Principal, scope: Scope): true {
    request.principal = principal;
    const usage = this.limits.countRequest(principal);
    if (usage !== undefined)
      request.res?.setHeaders(new Map(Object.entries(rateLimitFields(usage))));
    if (!hasScope(principal, scope)) throw new InsufficientScopeError(scope);
    return true;
  }

  private refuse(request: Request, failure: unknown): never {
    if (failure instanceof RefusedError) {
      request.refusal = failure.refusal;
      this.metrics.recordRefusedCredentials(failure.refusal);
      // Only here, so that a valid token works whatever others send from the same address.
      if (failure.isFailedAuthentication) this.limits.countFailure(request.ip);
    }
    throw failure;
  }
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
