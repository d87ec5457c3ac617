import type { IncomingMessage } from 'node:http';
import { fieldCount } from '../../auth/field-count.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

/** `uri-host [ ":" port ]` (RFC 9110, section 7.2; RFC 3986, section 3.2.2). */
const HOST = /^([\w.~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(:\d*)?$/;

/** Rejects malformed requests that Node's parser accepts. */
export function wellFormed(request: IncomingMessage): void {
  const { httpVersion, headers } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw badRequest('the request must use HTTP/1.1 or HTTP/1.0');
  }
  const { host } = headers;
  // HTTP/1.1 requires exactly one Host (RFC 9112, section 3.2). `headers` has only the first of several.
  const isMissing = host === undefined && httpVersion === '1.1';
  if (isMissing || fieldCount(request, 'host') > 1 || (host !== undefined && !HOST.test(host))) {
    throw badRequest('the request needs exactly one valid Host header');
  }
  const coding = headers['transfer-encoding'];
  // Such a request has faulty framing, whatever the coding (RFC 9112, section 6.1).
  if (coding !== undefined && httpVersion === '1.0') {
    throw badRequest('HTTP/1.0 does not support Transfer-Encoding: send a Content-Length');
  }
  // Reading another coding as chunked would permit request smuggling (RFC 9112, sections 6.1 and 11.2).
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw badRequest('the only supported Transfer-Encoding is chunked');
  }
  // RFC 9110, section 10.1.1.
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new ServiceException(ERRORS.expectationFailed);
  }
}

function badRequest(message: string): ServiceException {
  return new ServiceException(ERRORS.badRequest, message);
}

/** Whether the request target has origin form, absolute form, or is `*` with OPTIONS (RFC 9112, section 3.2). */
export function isTarget({ url = '', method }: IncomingMessage): boolean {
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return true;
  return /^https?:\/\/[^/]/i.test(url) && URL.canParse(url);
}
