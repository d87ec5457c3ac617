import { Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { Metrics } from '../observability/metrics.js';
import { Authenticator } from './authenticator.js';
import type { Principal, Scope } from './principal.js';
import { rateLimitFields, RateLimits } from './rate-limits.js';
import {
  InsufficientScopeError,
  CREDENTIALS_ERROR_REASONS,
  credentialsErrorReasonOf,
} from './credentials.error.js';
import type { CredentialsErrorReason } from './credentials.error.js';
import { IS_PUBLIC } from './public.decorator.js';
import { hasScope } from './principal.js';
import { REQUIRED_SCOPES } from './scopes/require-scope.decorator.js';

/**
 * Requires a valid token with the scope of the route, unless the route is `@Public()`. The application lists it before other
 * guards, so that they see `request.principal`.
 *
 * @example providers: [{ provide: APP_GUARD, useClass: AuthGuard }],
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
      'Requests that were rejected because of their credentials, by reason.',
      'reason',
      CREDENTIALS_ERROR_REASONS,
    );
  }

  canActivate(context: ExecutionContext): true | Promise<true> {
    const handler = context.getHandler();
    const scopes = this.reflector.get(REQUIRED_SCOPES, handler);
    // In this order: a search that finds nothing takes longest.
    if (scopes === undefined && this.reflector.get(IS_PUBLIC, handler)) return true;
    const request = context.switchToHttp().getRequest<Request>();
    try {
      const principal = this.authenticator.authenticate(request);
      return principal instanceof Promise
        ? principal
            .then((verified) => this.admit(request, verified, scopes))
            .catch((error: unknown) => this.reject(request, error))
        : this.admit(request, principal, scopes);
    } catch (error) {
      return this.reject(request, error);
    }
  }

  private admit(request: Request, principal: Principal, scopes: readonly Scope[]): true {
    request.principal = principal;
    request.guard = this;
    request.scopes = scopes;
    const usage = this.limits.countRequest(principal);
    if (usage !== undefined)
      request.res?.setHeaders(new Map(Object.entries(rateLimitFields(usage))));
    requireScope(principal, scopes);
    return true;
  }

  /** Verifies the token of a long request once more, without counting it again. */
  async requireValidToken(request: Request): Promise<void> {
    try {
      requireScope(await this.authenticator.authenticate(request), request.scopes!);
    } catch (error) {
      const reason = credentialsErrorReasonOf(error);
      if (reason !== undefined) request.credentialsErrorReason = reason;
      throw error;
    }
  }

  private reject(request: Request, error: unknown): never {
    const reason = credentialsErrorReasonOf(error);
    if (reason !== undefined) {
      request.credentialsErrorReason = reason;
      this.recordRejection(reason);
    }
    throw error;
  }
}

function requireScope(principal: Principal, scopes: readonly Scope[]): void {
  for (const scope of scopes) if (hasScope(principal, scope)) return;
  throw new InsufficientScopeError(scopes);
}
