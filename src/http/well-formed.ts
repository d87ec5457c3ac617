import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { PlantStoreError } from '../errors/plant-store.error.js';

/** Refuses what is wrong with a request before its path matters. */
export function wellFormed(request: Request, _response: Response, next: NextFunction): void {
  next(hostFault(request) ?? expectationFault(request));
}

/** RFC 9112, section 3.2: exactly one Host, from HTTP/1.1 on. Node drops a second one silently. */
function hostFault({ rawHeaders, httpVersion }: IncomingMessage): PlantStoreError | undefined {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name)).length;
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return undefined;
  return new PlantStoreError('bad-request', 'the request needs exactly one Host header');
}

/** RFC 9110, section 10.1.1. */
function expectationFault({ headers }: IncomingMessage): PlantStoreError | undefined {
  if (headers.expect === undefined || headers.expect.toLowerCase() === '100-continue') {
    return undefined;
  }
  return new PlantStoreError('expectation-failed');
}
