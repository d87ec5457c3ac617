import { EXIT, InputError } from './command-error.js';

/** Longest record, in bytes. Without a bound, a file without line ends would be held in memory. */
export const MAX_RECORD = 16 * 1024 ** 2;

export type InputRecord = {
  /** Line where it begins, from 1. */
  readonly line: number;
  /** Its bytes in the file, with the line end. */
  readonly source: Buffer;
} & Content;

/** A line of a request, or why the command cannot make one. */
export type Content = { readonly json: Buffer } | { readonly fault: string };

export interface Input {
  /** Throws CommandError if the rest of the file cannot be read. */
  records(): AsyncIterable<InputRecord>;
  /** What a file with some of its records begins with. Known when the first record is. */
  readonly header: Buffer;
}

export class ByteQueue {
  private chunks: Buffer[] = [];
  length = 0;

  push(chunk: Buffer): void {
    if (this.length === 0) this.chunks = [];
    this.chunks.push(chunk);
    this.length += chunk.length;
  }

  take(length: number): Buffer {
    this.length -= length;
    const all = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
    this.chunks = [all.subarray(length)];
    return all.subarray(0, length);
  }
}

export function ndjsonInput(name: string, bytes: AsyncIterable<Buffer>): Input {
  return { header: Buffer.alloc(0), records: () => linesOf(name, bytes) };
}

/** In bytes and not in text like the lines of a response: they are sent as they are, and the service checks them. */
async function* linesOf(name: string, bytes: AsyncIterable<Buffer>): AsyncGenerator<InputRecord> {
  const begun = new ByteQueue();
  let line = 1;
  for await (const chunk of bytes) {
    let start = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
      begun.push(chunk.subarray(start, end + 1));
      yield* recordOf(begun.take(begun.length), line);
      start = end + 1;
      line += 1;
    }
    begun.push(chunk.subarray(start));
    if (begun.length > MAX_RECORD) throw tooLong(name, line);
  }
  yield* recordOf(begun.take(begun.length), line);
}

/** Nothing for a blank line. */
function* recordOf(source: Buffer, line: number): Generator<InputRecord> {
  let end = source.length;
  if (source[end - 1] === 0x0a) end -= 1;
  if (source[end - 1] === 0x0d) end -= 1;
  if (end > 0) yield { line, source, json: source.subarray(0, end) };
}

export function tooLong(name: string, line: number): InputError {
  const why = `a record may have at most ${MAX_RECORD / 1024 ** 2} MiB`;
  return new InputError(EXIT.incomplete, `${name}:${line}: ${why}; the rest was not read`);
}
