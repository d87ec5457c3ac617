import { Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { Metrics } from '../observability/metrics.js';
import { Authenticator } from './authenticator.js';
import type { Principal, Scope } from './principal.js';
import { rateLimitFields } from './rate-limited.error.js';
import { RateLimits } from './rate-limits.js';
import {
  InsufficientScopeError,
  CREDENTIALS_ERROR_REASONS,
  CredentialsError,
} from './credentials.error.js';
import type { CredentialsErrorReason } from './credentials.error.js';
import { IS_PUBLIC } from './public.decorator.js';
import { REQUIRED_SCOPE } from './scopes/require-scope.decorator.js';

/**
 * Requires a valid token with the scope of the route, unless the route is `@Public()`. The application lists it
 * before other guards, so that they see `request.principal`:
 *
 * ```ts
 * providers: [{ provide: APP_GUARD, useClass: AuthGuard }],
 * ```
 */
@Injectable()
export class AuthGuard implements CanActivate {
  private readonly recordRejection: (reason: CredentialsErrorReason) => void;

  constructor(
    private readonly authenticator: Authenticator,
    private readonly reflector: Reflector,
    private readonly limits: RateLimits,
    metrics: Metrics,
  ) {
    this.recordRejection = metrics.counter(
      metrics.named('refused_credentials_total'),
      'Requests that were refused because of their credentials, by reason.',
      'reason',
      CREDENTIALS_ERROR_REASONS,
    );
  }

  canActivate(context: ExecutionContext): true | Promise<true> {
    const handler = context.getHandler();
    const scope = this.reflector.get(REQUIRED_SCOPE, handler);
    // In this order: a search that finds nothing takes longest.
    if (scope === undefined && this.reflector.get(IS_PUBLIC, handler)) return true;
    const request = context.switchToHttp().getRequest<Request>();
    try {
      const principal = this.authenticator.authenticate(request);
      return principal instanceof Promise
        ? principal
            .then((verified) => this.admit(request, verified, scope))
            .catch((error: unknown) => this.reject(request, error))
        : this.admit(request, principal, scope);
    } catch (error) {
      return this.reject(request, error);
    }
  }

  private admit(request: Request, principal: Principal, scope: Scope): true {
    request.principal = principal;
    request.guard = this;
    request.scope = scope;
    const usage = this.limits.countRequest(principal);
    if (usage !== undefined)
      request.res?.setHeaders(new Map(Object.entries(rateLimitFields(usage))));
    requireScope(principal, scope);
    return true;
  }

  /** Verifies the token of a long request once more, without counting it again. */
  async requireValidToken(request: Request): Promise<void> {
    try {
      requireScope(await this.authenticator.authenticate(request), request.scope!);
    } catch (error) {
      if (error instanceof CredentialsError) request.credentialsErrorReason = error.reason;
      throw error;
    }
  }

  private reject(request: Request, error: unknown): never {
    if (error instanceof CredentialsError) {
      request.credentialsErrorReason = error.reason;
      this.recordRejection(error.reason);
    }
    throw error;
  }
}

function requireScope({ scopes }: Principal, scope: Scope): void {
  if (scopes !== 'all' && !scopes.has(scope)) throw new InsufficientScopeError(scope);
}
