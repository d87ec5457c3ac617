import { PassThrough } from 'node:stream';
import { setImmediate as immediate } from 'node:timers/promises';
import type { Request } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

interface Reading {
  readonly fail: (failure: Error) => void;
  /** How often something was taken, also the end. */
  taken: number;
}

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
  const fail = (failure: Error): void => void chunks.destroy(failure);
  request.failBody = fail;
  // A pipe does not pass on errors.
  request.on('error', fail).pipe(chunks);
  const reading: Reading = { fail, taken: 0 };
  let timer = setTimeout(expire, timeout, reading, reading.taken);
  try {
    for await (const chunk of chunks) {
      reading.taken += 1;
      clearTimeout(timer);
      yield chunk as Buffer;
      // A chunk can take milliseconds. Other requests have their turn.
      await immediate();
      timer = setTimeout(expire, timeout, reading, reading.taken);
    }
  } finally {
    reading.taken += 1;
    clearTimeout(timer);
    request.failBody = undefined;
    request.unpipe(chunks).pause();
  }
}

/** @param before what was taken when the time began */
function expire(reading: Reading, before: number): void {
  // After a stall of the event loop, timers fire before what has long arrived is read.
  setImmediate(failUnlessTaken, reading, before);
}

function failUnlessTaken({ fail, taken }: Reading, before: number): void {
  if (taken === before) fail(new ServiceException(ERRORS.requestTimeout));
}
