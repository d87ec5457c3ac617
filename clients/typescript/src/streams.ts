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

/** The whole lines of a text in UTF-8, without their ends. What follows the last line end is left out. */
export async function* linesOf(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | null,
  wait?: Wait,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunksOf(body, signal, wait)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
