import { PassThrough } from 'node:stream';
import { setImmediate as immediate } from 'node:timers/promises';
import type { Request } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

/**
 * The chunks of a body, read only as fast as they are taken. The connection stays open if the loop ends early.
 *
 * @param timeout for the next chunk, in milliseconds
 * @throws ServiceException `request-timeout`
 */
export async function* chunksOf(request: Request, timeout: number): AsyncGenerator<Buffer> {
  // The server leaves 100 Continue to readers of bodies. HTTP/1.0 has none (RFC 9110, section 10.1.1).
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') {
    request.res?.writeContinue();
  }
  const chunks = new PassThrough();
  request.failBody = (failure) => chunks.destroy(failure);
  // A pipe does not pass on errors.
  request.on('error', (error) => chunks.destroy(error)).pipe(chunks);
  let taken = 0;
  const wait = () => {
    const before = taken;
    // After a stall of the event loop, timers fire before what has long arrived is read.
    const expire = () => setImmediate(() => taken === before && isOver());
    return setTimeout(expire, timeout);
  };
  const isOver = () => chunks.destroy(new ServiceException(ERRORS.requestTimeout));
  let timer = wait();
  try {
    for await (const chunk of chunks) {
      taken += 1;
      clearTimeout(timer);
      yield chunk as Buffer;
      // A chunk can take milliseconds. Other requests have their turn.
      await immediate();
      timer = wait();
    }
  } finally {
    taken += 1;
    clearTimeout(timer);
    request.failBody = undefined;
    request.unpipe(chunks).pause();
  }
}
