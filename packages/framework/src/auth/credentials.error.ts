import { ERRORS } from '../errors/common-errors.js';
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

/** The token is valid, but lacks the scope of the operation. */
export class InsufficientScopeError extends CredentialsError {
  constructor(scope: Scope) {
    const message = `the operation needs the scope ${scope}`;
    // RFC 6750, section 3.
    super('scope', ERRORS.scopeMissing, message, { challenge: `scope="${scope}"` });
  }
}
