import type { IncomingMessage } from 'node:http';
import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';

/**
 * The bearer token of a request, from the Authorization header only (RFC 6750, section 2.1). Its syntax is not checked,
 * because no verifier accepts a malformed token.
 *
 * @throws PlantStoreError `no-credentials` without the header or for another scheme, `token-not-valid` for more than
 * one header and without a token
 */
export function readBearerToken(request: IncomingMessage): string {
  const [credentials = '', ...others] = request.headersDistinct['authorization'] ?? [];
  if (others.length > 0) {
    throw new PlantStoreError(
      ERRORS.tokenNotValid,
      'the request must have only one Authorization header',
    );
  }
  const [before = '', scheme = ''] = /^(\S*) */.exec(credentials) ?? [];
  if (scheme.toLowerCase() !== 'bearer') throw new PlantStoreError(ERRORS.noCredentials);
  const token = credentials.slice(before.length);
  if (token === '') throw new PlantStoreError(ERRORS.tokenNotValid);
  return token;
}
