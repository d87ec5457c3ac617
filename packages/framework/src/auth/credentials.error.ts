import { HttpException } from '@nestjs/common';
import { ERRORS } from '../errors/common-errors.js';
import { statusOf } from '../errors/error-kind.js';
import type { ErrorKind } from '../errors/error-kind.js';
import { ServiceException } from '../errors/service.exception.js';
import type { Scope } from './principal.js';

/** The reasons are a field of the log and a label of the metrics. The client learns less. */
export const CREDENTIALS_ERROR_REASONS = [
  'no-credentials',
  'several-headers',
  'malformed',
  'unknown-token',
  'revoked',
  'expired',
  'not-yet-valid',
  'issuer',
  'audience',
  'claims',
  'token-type',
  'algorithm',
  'unknown-key',
  'signature',
  'scope',
  // A verifier of the service rejects the credentials.
  'verifier',
] as const;

export type CredentialsErrorReason = (typeof CREDENTIALS_ERROR_REASONS)[number];

export class CredentialsError extends ServiceException {
  constructor(
    readonly reason: CredentialsErrorReason,
    kind: ErrorKind = ERRORS.tokenNotValid,
    message?: string,
    details?: ServiceException['details'],
  ) {
    super(kind, message, details);
  }
}

export class InsufficientScopeError extends CredentialsError {
  /** @param scopes of which the operation needs one */
  constructor(scopes: readonly Scope[]) {
    const message = `the operation needs the scope ${scopes.join(' or ')}`;
    // RFC 6750, section 3.
    super('scope', ERRORS.scopeMissing, message, { challenge: `scope="${scopes.join(' ')}"` });
  }
}

/** Why a request is rejected, if that is because of its credentials. A verifier of the service throws any exception with status 401. */
export function credentialsErrorReasonOf(error: unknown): CredentialsErrorReason | undefined {
  if (error instanceof CredentialsError) return error.reason;
  if (error instanceof HttpException) return error.getStatus() === 401 ? 'verifier' : undefined;
  if (!(error instanceof ServiceException)) return undefined;
  if (error.kind === ERRORS.tokenExpired) return 'expired';
  return statusOf(error.kind.number) === 401 ? 'verifier' : undefined;
}
