export type Wait = <T>(read: () => Promise<T>) => Promise<T>;

/**
 * The chunks of a stream. Safari cannot iterate a stream itself.
 *
 * @param signal closes the stream at once, also while nobody waits for a chunk
 */
export async function* chunksOf<T>(
  stream: ReadableStream<T>,
  signal: AbortSignal | null = null,
  wait: Wait = (read) => read(),
): AsyncGenerator<T, void> {
  const reader = stream.getReader();
  const close = () => void reader.cancel().catch(() => {});
  signal?.addEventListener('abort', close);
  const next = () => wait(() => reader.read());
  try {
    for (let part = await next(); !part.done; part = await next()) yield part.value;
    // To the reader, a stream that was closed has ended.
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener('abort', close);
    await reader.cancel();
  }
}

/**
 * Puts the lines of a text in UTF-8 together, which comes in chunks. A line can have many megabytes, so only what is new is searched.
 * A byte order mark is left out.
 */
export class Lines {
  readonly #decoder = new TextDecoder();
  readonly #lineEnd: RegExp | string;
  #pieces: string[] = [];
  #endedInCr = false;

  /** @param lineEnd by default LF. An expression may take CR, LF and both for an end */
  constructor(lineEnd: RegExp | string = '\n') {
    this.#lineEnd = lineEnd;
  }

  /** Whether a line has begun and not ended. */
  get isCut(): boolean {
    return this.#pieces.some((piece) => piece !== '');
  }

  /** Adds a chunk, and returns the lines that end in it, without their ends. */
  endedBy(chunk: Uint8Array): string[] {
    let text = this.#decoder.decode(chunk, { stream: true });
    // The second half of a line end.
    if (this.#endedInCr && text.startsWith('\n')) text = text.slice(1);
    else if (text === '') return [];
    this.#endedInCr = this.#lineEnd !== '\n' && text.endsWith('\r');
    const [first = '', ...others] = text.split(this.#lineEnd);
    this.#pieces.push(first);
    const last = others.pop();
    if (last === undefined) return [];
    const whole = [this.#pieces.join(''), ...others];
    this.#pieces = [last];
    return whole;
  }
}
