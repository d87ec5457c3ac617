import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitLines } from '../../src/http/body/body-lines.js';

const PATIENT = { idleMilliseconds: 60_000, milliseconds: 60_000 };

async function* chunksOf(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0;
  for (const length of [...lengths, bytes.length]) {
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

async function split(text: string, lengths: readonly number[], maxLength: number) {
  const chunks = chunksOf(Buffer.from(text), lengths);
  const lines = [];
  for await (const some of splitLines(chunks, { ...PATIENT, bytes: maxLength })) {
    lines.push(...some.map(({ number, bytes }) => ({ number, text: bytes?.toString() })));
  }
  return lines;
}

describe('lines of a body', () => {
  it('are the same however the body arrives', async () => {
    const line = fc.string({ unit: fc.constantFrom('a', ' ', '\r', '月', '"') });
    const lengths = fc.array(fc.nat(7));
    await fc.assert(
      fc.asyncProperty(fc.array(line), lengths, fc.nat(12), async (lines, chunks, maxLength) => {
        const expected = lines
          .map((text, index) => ({ number: index + 1, text }))
          .filter(({ text }) => /[^ \r]/.test(text) || Buffer.byteLength(text) > maxLength + 1)
          .map(({ number, text }) => ({ number, text: text.replace(/\r$/, '') }))
          .map(({ number, text }) => ({
            number,
            text: Buffer.byteLength(text) > maxLength ? undefined : text,
          }));
        expect(await split(lines.join('\n'), chunks, maxLength)).toEqual(expected);
        expect(await split(`${lines.join('\n')}\n`, chunks, maxLength)).toEqual(expected);
      }),
    );
  });
});
