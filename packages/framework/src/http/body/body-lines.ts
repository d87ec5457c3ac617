import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

export interface BodyLimits {
  /** Length of a body, or of a line of a body that is read line by line. */
  readonly bytes: number;
  /** Between two chunks of a body. */
  readonly idleMilliseconds: number;
  /** For the whole body, or a line. */
  readonly milliseconds: number;
}

/** How slowly a line may arrive, in bytes per millisecond. */
export const SLOWEST = 16;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** A line of a body of {@link NdjsonLines}. */
export interface BodyLine {
  /** Counts from 1. */
  readonly number: number;
  readonly length: number;
  /** `undefined` if the line is longer than the limit. */
  readonly bytes: Buffer | undefined;
}

/**
 * Splits a body into lines while it arrives, and yields the lines of each chunk. Lines end with LF or CRLF. Blank lines are
 * counted and left out.
 *
 * A line must end within the idle time after the line before, plus time for its length: otherwise a client could occupy an
 * import without importing anything.
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  { bytes: maxLength, idleMilliseconds, milliseconds }: BodyLimits,
): AsyncGenerator<readonly BodyLine[]> {
  let since = performance.now();
  let number = 0;
  let lines: BodyLine[] = [];
  const partial = new PartialLine(maxLength + 1);
  const addLine = (content: Buffer | undefined, length: number) => {
    number += 1;
    if (isBlank(content)) return;
    const isCrlf = content?.at(-1) === CARRIAGE_RETURN;
    const bytes = isCrlf ? content.subarray(0, -1) : content;
    lines.push({ number, length, bytes: bytes && bytes.length <= maxLength ? bytes : undefined });
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, start)) {
      const end = chunk.subarray(start, at);
      start = at + 1;
      const length = partial.length + end.length;
      // Most lines need no copy.
      const content = partial.length === 0 && length <= maxLength ? end : partial.takeWith(end);
      addLine(content, length);
    }
    partial.add(chunk.subarray(start));
    if (lines.length > 0) {
      yield lines;
      lines = [];
      since = performance.now();
    }
    const timeout = Math.min(milliseconds, idleMilliseconds + partial.length / SLOWEST);
    if (performance.now() - since > timeout) throw new ServiceException(ERRORS.requestTimeout);
  }
  const { length } = partial;
  addLine(partial.takeWith(Buffer.alloc(0)), length);
  if (lines.length > 0) yield lines;
}

function isBlank(content: Buffer | undefined): boolean {
  return (
    content?.every((byte) => byte === 0x20 || byte === 0x09 || byte === CARRIAGE_RETURN) ?? false
  );
}

/** The start of a line whose end has not arrived. Its memory does not depend on the number of pieces. */
class PartialLine {
  private buffer = Buffer.alloc(0);
  length = 0;

  constructor(private readonly maxLength: number) {}

  add(piece: Buffer): void {
    const start = this.length;
    this.length += piece.length;
    if (this.length > this.maxLength) {
      this.buffer = Buffer.alloc(0);
      return;
    }
    if (this.length > this.buffer.length) {
      const capacity = Math.max(this.length, 2 * this.buffer.length);
      this.buffer = Buffer.concat([this.buffer], capacity);
    }
    piece.copy(this.buffer, start);
  }

  takeWith(end: Buffer): Buffer | undefined {
    this.add(end);
    const line = this.length > this.maxLength ? undefined : this.buffer.subarray(0, this.length);
    this.buffer = Buffer.alloc(0);
    this.length = 0;
    return line;
  }
}
