import { PassThrough } from 'node:stream';
import { setImmediate as immediate } from 'node:timers/promises';
import type { Request } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

interface Reading {
  readonly chunks: PassThrough;
  /** Chunks that were taken, and the end. */
  taken: number;
}

/**
 * The chunks of a body, read as fast as they are taken. The connection stays open if the loop ends early.
 *
 * @param timeout for the next chunk, in milliseconds
 */
export async function* chunksOf(request: Request, timeout: number): AsyncGenerator<Buffer> {
  // HTTP/1.0 has no 100 Continue (RFC 9110, section 10.1.1).
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') {
    request.res?.writeContinue();
  }
  const chunks = new PassThrough();
  request.bodyChunks = chunks;
  // A pipe does not pass on errors.
  request.on('error', (error) => chunks.destroy(error)).pipe(chunks);
  const reading: Reading = { chunks, taken: 0 };
  let timer = setTimeout(expire, timeout, reading, reading.taken);
  try {
    for await (const chunk of chunks) {
      reading.taken += 1;
      clearTimeout(timer);
      yield chunk as Buffer;
      // Lets other requests run, because a chunk can take milliseconds.
      await immediate();
      timer = setTimeout(expire, timeout, reading, reading.taken);
    }
  } finally {
    reading.taken += 1;
    clearTimeout(timer);
    request.bodyChunks = undefined;
    request.unpipe(chunks).pause();
  }
}

function expire(reading: Reading, before: number): void {
  // After a stall of the event loop, timers fire before chunks that arrived earlier are read.
  setImmediate(failUnlessTaken, reading, before);
}

function failUnlessTaken({ chunks, taken }: Reading, before: number): void {
  if (taken === before) chunks.destroy(new ServiceException(ERRORS.requestTimeout));
}
