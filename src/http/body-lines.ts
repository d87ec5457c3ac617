import { PassThrough } from 'node:stream';
import type { Request } from 'express';
import { PlantStoreError } from '../errors/plant-store.error.js';

const LINE_FEED = 0x0a;

/** A line of a body, without its line feed. */
export interface Line {
  /** Counts from 1. */
  readonly number: number;
  /** In bytes. */
  readonly length: number;
  /** `undefined` if the line is longer than the limit. */
  readonly bytes: Buffer | undefined;
}

/**
 * Splits a body into lines while it arrives. Blank lines count, and are left out.
 *
 * @param maxLength of a line, in bytes. The rest of a longer line is discarded
 * @param signal leaves out all further lines, also of a chunk that has arrived
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  maxLength: number,
  signal: AbortSignal,
): AsyncGenerator<Line> {
  let number = 1;
  let parts: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer) => {
    length += part.length;
    if (length <= maxLength) parts.push(part);
    else parts = [];
  };
  const end = (): Line => {
    const bytes = length > maxLength ? undefined : Buffer.concat(parts, length);
    const line = { number, length, bytes };
    number += 1;
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, at));
      start = at + 1;
      const line = end();
      if (signal.aborted) return;
      if (!isBlank(line)) yield line;
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
  if (length === 0) return;
  const line = end();
  if (!isBlank(line)) yield line;
}

function isBlank({ bytes }: Line): boolean {
  return bytes?.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d) ?? false;
}

/**
 * The chunks of a body, read only as fast as they are taken. The connection stays open if the loop ends early.
 *
 * @param timeout for the next chunk, in milliseconds
 */
export async function* chunksOf(request: Request, timeout: number): AsyncGenerator<Buffer> {
  const chunks = new PassThrough();
  // A pipe does not pass on errors.
  request.on('error', (error) => chunks.destroy(error)).pipe(chunks);
  const wait = () =>
    setTimeout(() => chunks.destroy(new PlantStoreError('request-timeout')), timeout);
  let timer = wait();
  try {
    for await (const chunk of chunks) {
      clearTimeout(timer);
      yield chunk as Buffer;
      timer = wait();
    }
  } finally {
    clearTimeout(timer);
    request.unpipe(chunks).pause();
  }
}
