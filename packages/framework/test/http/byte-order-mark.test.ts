import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withoutByteOrderMark } from '../../src/json/byte-order-mark.js';

const MARK = Buffer.from('\ufeff');

/** Bytes among which parts of a mark are frequent. */
const bytes = fc
  .array(fc.constantFrom(MARK, MARK.subarray(0, 1), MARK.subarray(1), Buffer.from('a')))
  .map((parts) => Buffer.concat(parts));

it('a byte order mark is left out at the beginning only, however the bytes arrive', async () => {
  await fc.assert(
    fc.asyncProperty(bytes, fc.array(fc.nat(4)), async (whole, lengths) => {
      async function* pieces(): AsyncGenerator<Buffer> {
        let at = 0;
        for (const length of [...lengths, whole.length]) {
          yield whole.subarray(at, at + length);
          at += length;
        }
      }
      const received: Buffer[] = [];
      for await (const chunk of withoutByteOrderMark(pieces())) received.push(chunk);
      const isMarked = whole.indexOf(MARK) === 0;
      expect(Buffer.concat(received)).toEqual(isMarked ? whole.subarray(MARK.length) : whole);
    }),
  );
});
