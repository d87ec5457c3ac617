import type { IncomingMessage } from 'node:http';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { countOf } from './header-count.js';

/** Refuses malformed requests that Node's parser accepts. */
export function wellFormed(request: IncomingMessage): void {
  const fault = FAULTS.find(([isFault]) => isFault(request));
  if (fault !== undefined) throw new PlantStoreError('bad-request', fault[1]);
  if (isUnknownExpectation(request)) throw new PlantStoreError('expectation-failed');
}

const FAULTS: readonly (readonly [(request: IncomingMessage) => boolean, string])[] = [
  [hasOtherVersion, 'the request must use HTTP/1.1 or HTTP/1.0'],
  [hasWrongHost, 'the request needs exactly one valid Host header'],
  [hasTransferCodingInHttp10, 'HTTP/1.0 does not support Transfer-Encoding: send a Content-Length'],
  [hasUnknownTransferCoding, 'the only supported Transfer-Encoding is chunked'],
];

function hasOtherVersion({ httpVersion }: IncomingMessage): boolean {
  return httpVersion !== '1.1' && httpVersion !== '1.0';
}

/** HTTP/1.1 requires exactly one Host (RFC 9112, section 3.2). `headers` has only the first of several. */
function hasWrongHost(request: IncomingMessage): boolean {
  const count = countOf('host', request);
  if (count === 0) return request.httpVersion !== '1.0';
  return count > 1 || !HOST.test(request.headers.host ?? '');
}

/** `uri-host [ ":" port ]` (RFC 9110, section 7.2; RFC 3986, section 3.2.2). */
const HOST = /^([\w.~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(:\d*)?$/;

/** Whether the request target has origin form, absolute form, or is `*` with OPTIONS (RFC 9112, section 3.2). */
export function isTarget({ url = '', method }: IncomingMessage): boolean {
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return true;
  return /^https?:\/\/[^/]/i.test(url) && URL.canParse(url);
}

/** Such a request has faulty framing, whatever the coding (RFC 9112, section 6.1). */
function hasTransferCodingInHttp10({ headers, httpVersion }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined && httpVersion === '1.0';
}

/** Reading another coding as chunked would permit request smuggling (RFC 9112, sections 6.1 and 11.2). */
function hasUnknownTransferCoding({ headers }: IncomingMessage): boolean {
  return (headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked';
}

/** RFC 9110, section 10.1.1. */
function isUnknownExpectation({ headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue';
}
