import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { PlantStoreError } from '../errors/plant-store.error.js';

/** Refuses what is wrong with a request before its path matters, and what Node lets pass. */
export function wellFormed(request: Request, _response: Response, next: NextFunction): void {
  const fault = FAULTS.find(([isFault]) => isFault(request));
  if (fault !== undefined) next(new PlantStoreError('bad-request', fault[1]));
  else if (isUnknownExpectation(request)) next(new PlantStoreError('expectation-failed'));
  else next();
}

const FAULTS: readonly (readonly [(request: IncomingMessage) => boolean, string])[] = [
  [hasOtherVersion, 'the request must be of HTTP/1.1 or HTTP/1.0'],
  [hasWrongHost, 'the request needs exactly one valid Host header'],
  [hasUnknownTransferCoding, 'the only transfer coding that is understood is chunked'],
];

function hasOtherVersion({ httpVersion }: IncomingMessage): boolean {
  return httpVersion !== '1.1' && httpVersion !== '1.0';
}

/** RFC 9112, section 3.2: exactly one, from HTTP/1.1 on. Node keeps the first of several. */
function hasWrongHost({ rawHeaders, headers, httpVersion }: IncomingMessage): boolean {
  const count = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name)).length;
  if (count === 0) return httpVersion !== '1.0';
  return count > 1 || !HOST.test(headers.host ?? '');
}

/** `uri-host [ ":" port ]` (RFC 9110, section 7.2; RFC 3986, section 3.2.2). */
const HOST = /^([\w.~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(:\d*)?$/;

/** Whether the request has a target in origin form, in absolute form, or the asterisk of OPTIONS (RFC 9112, section 3.2). */
export function isTarget({ url = '', method }: IncomingMessage): boolean {
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return true;
  return /^https?:\/\/[^/]/i.test(url) && URL.canParse(url);
}

/** RFC 9112, section 6.1. Whoever reads another coding as chunked can be made to see other requests. */
function hasUnknownTransferCoding({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return false;
  return coding.toLowerCase() !== 'chunked' || httpVersion === '1.0';
}

/** RFC 9110, section 10.1.1. */
function isUnknownExpectation({ headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue';
}
