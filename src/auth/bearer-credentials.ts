import type { IncomingMessage } from 'node:http';
import { B64TOKEN } from '../config/variable-parsers.js';
import { countOf } from '../http/header-count.js';
import { PlantStoreError } from '../errors/plant-store.error.js';

/**
 * The bearer token of a request. Only the Authorization header is looked at (RFC 6750, section 2.1).
 *
 * @throws PlantStoreError `no-credentials` without a header or for another scheme, `token-not-valid`
 * for more than one header and for what cannot be a token
 */
export function readBearerToken(request: IncomingMessage): string {
  const credentials = request.headers.authorization;
  if (countOf('authorization', request) > 1) {
    throw new PlantStoreError('token-not-valid', 'there must be one Authorization header only');
  }
  const [, scheme = '', token] = /^(\S*) *(.*)$/.exec(credentials ?? '') ?? [];
  if (scheme.toLowerCase() !== 'bearer') throw new PlantStoreError('no-credentials');
  if (token === undefined || !B64TOKEN.test(token)) {
    throw new PlantStoreError('token-not-valid');
  }
  return token;
}
