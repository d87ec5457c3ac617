import { PassThrough } from 'node:stream';
import { setImmediate as immediate } from 'node:timers/promises';
import type { Request } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';
import { sendContinue } from './unread-body.js';

/**
 * The chunks of a body, read only as fast as they are taken. The connection stays open if the loop ends early.
 *
 * @param timeout for the next chunk, in milliseconds
 * @throws PlantStoreError `request-timeout`
 */
export async function* chunksOf(request: Request, timeout: number): AsyncGenerator<Buffer> {
  sendContinue(request);
  // While the database is slow, nothing may be read and written for a long time.
  request.socket.setTimeout(0);
  const chunks = new PassThrough();
  request.failBody = (failure) => chunks.destroy(failure);
  // A pipe does not pass on errors.
  request.on('error', (error) => chunks.destroy(error)).pipe(chunks);
  const wait = () =>
    setTimeout(() => chunks.destroy(new PlantStoreError(ERRORS.requestTimeout)), timeout);
  let timer = wait();
  try {
    for await (const chunk of chunks) {
      clearTimeout(timer);
      yield chunk as Buffer;
      // A chunk can take milliseconds. Other requests have their turn.
      await immediate();
      timer = wait();
    }
  } finally {
    clearTimeout(timer);
    request.failBody = undefined;
    request.unpipe(chunks).pause();
  }
}
