/** Waits for a read of a stream. */
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
 * The whole lines of a text in UTF-8, without their ends, as many at a time as a chunk ends. What follows the last line end is
 * left out.
 *
 * @param body `fetch` has none for a response without content
 */
export async function* linesOf(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal | null,
  wait?: Wait,
): AsyncGenerator<readonly string[], void> {
  if (!body) return;
  const decoder = new TextDecoder();
  const lines = new Lines('\n');
  for await (const chunk of chunksOf(body, signal, wait)) {
    yield lines.endedBy(decoder.decode(chunk, { stream: true }));
  }
}

/** Puts lines together that come in pieces. A line can have many megabytes, so only what is new is searched. */
export class Lines {
  #pieces: string[] = [];
  readonly #lineEnd: string | RegExp;

  constructor(lineEnd: string | RegExp) {
    this.#lineEnd = lineEnd;
  }

  get isCut(): boolean {
    return this.#pieces.some((piece) => piece !== '');
  }

  /** Adds a piece, and returns the lines that end in it, without their ends. */
  endedBy(piece: string): string[] {
    const [first = '', ...others] = piece.split(this.#lineEnd);
    this.#pieces.push(first);
    const last = others.pop();
    if (last === undefined) return [];
    const whole = [this.#pieces.join(''), ...others];
    this.#pieces = [last];
    return whole;
  }
}
