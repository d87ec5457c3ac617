import type { IncomingMessage } from 'node:http';
import { B64TOKEN } from '../config/variable-parsers.js';
import { countOf } from '../http/header-count.js';
import { PlantStoreError } from '../errors/plant-store.error.js';

/**
 * The bearer token of a request, from the Authorization header only (RFC 6750, section 2.1).
 *
 * @throws PlantStoreError `no-credentials` without the header or for another scheme, `token-not-valid` for more than
 * one header and for malformed tokens
 */
export function readBearerToken(request: IncomingMessage): string {
  const credentials = request.headers.authorization;
  if (countOf('authorization', request) > 1) {
    throw new PlantStoreError(
      'token-not-valid',
      'the request must have only one Authorization header',
    );
  }
  const [, scheme = '', token] = /^(\S*) *(.*)$/.exec(credentials ?? '') ?? [];
  if (scheme.toLowerCase() !== 'bearer') throw new PlantStoreError('no-credentials');
  if (token === undefined || !B64TOKEN.test(token)) {
    throw new PlantStoreError('token-not-valid');
  }
  return token;
}
