const MARK = Buffer.from('\ufeff');

/** Drops a byte order mark at the start: some programs write one, and parsers of JSON may ignore it (RFC 8259, section 8.1). */
export async function* withoutByteOrderMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (begun === undefined) {
      yield chunk;
      continue;
    }
    begun = Buffer.concat([begun, chunk]);
    // The mark can arrive in pieces.
    if (begun.length < MARK.length && MARK.subarray(0, begun.length).equals(begun)) continue;
    const isMarked = begun.subarray(0, MARK.length).equals(MARK);
    yield isMarked ? begun.subarray(MARK.length) : begun;
    begun = undefined;
  }
  if (begun !== undefined) yield begun;
}
