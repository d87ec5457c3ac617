import type { IncomingMessage } from 'node:http';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { countOf } from './header-count.js';

/** Refuses what is wrong with a request before its path matters, and what Node lets pass. */
export function wellFormed(request: IncomingMessage): void {
  const fault = FAULTS.find(([isFault]) => isFault(request));
  if (fault !== undefined) throw new PlantStoreError('bad-request', fault[1]);
  if (isUnknownExpectation(request)) throw new PlantStoreError('expectation-failed');
}

const FAULTS: readonly (readonly [(request: IncomingMessage) => boolean, string])[] = [
  [hasOtherVersion, 'the request must be of HTTP/1.1 or HTTP/1.0'],
  [hasWrongHost, 'the request needs exactly one valid Host header'],
  [hasTransferCodingInHttp10, 'HTTP/1.0 has no transfer codings: the body needs a Content-Length'],
  [hasUnknownTransferCoding, 'the only transfer coding that is understood is chunked'],
];

function hasOtherVersion({ httpVersion }: IncomingMessage): boolean {
  return httpVersion !== '1.1' && httpVersion !== '1.0';
}

/** RFC 9112, section 3.2: exactly one, from HTTP/1.1 on. Node keeps the first of several. */
function hasWrongHost(request: IncomingMessage): boolean {
  const count = countOf('host', request);
  if (count === 0) return request.httpVersion !== '1.0';
  return count > 1 || !HOST.test(request.headers.host ?? '');
}

/** `uri-host [ ":" port ]` (RFC 9110, section 7.2; RFC 3986, section 3.2.2). */
const HOST = /^([\w.~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(:\d*)?$/;

/** Whether the request has a target in origin form, in absolute form, or the asterisk of OPTIONS (RFC 9112, section 3.2). */
export function isTarget({ url = '', method }: IncomingMessage): boolean {
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return true;
  return /^https?:\/\/[^/]/i.test(url) && URL.canParse(url);
}

/** RFC 9112, section 6.1: the framing of such a request is faulty, whatever the coding. */
function hasTransferCodingInHttp10({ headers, httpVersion }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined && httpVersion === '1.0';
}

/** RFC 9112, section 6.1. Whoever reads another coding as chunked can be made to see other requests. */
function hasUnknownTransferCoding({ headers }: IncomingMessage): boolean {
  return (headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked';
}

/** RFC 9110, section 10.1.1. */
function isUnknownExpectation({ headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue';
}
