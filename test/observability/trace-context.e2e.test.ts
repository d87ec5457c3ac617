import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callerTrace } from '../../packages/framework/src/observability/trace-context.js';
import { startTestService } from '../support/test-service.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

const parse = (traceparent?: string) =>
  callerTrace({ headers: { traceparent } } as unknown as IncomingMessage);

const hex = (digits: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${digits}}$`));
const notZero = (digits: number) => hex(digits).filter((text) => /[^0]/.test(text));

describe('traceparent', () => {
  it('is read in every valid form', () => {
    fc.assert(
      fc.property(notZero(32), notZero(16), hex(2), (traceId, spanId, flags) => {
        expect(parse(`00-${traceId}-${spanId}-${flags}`)).toEqual({
          traceId,
          spanId,
          sampled: /[13579bdf]$/.test(flags),
        });
      }),
    );
  });

  it('is read in later versions, which may append fields', () => {
    const later = hex(2).filter((version) => version !== '00' && version !== 'ff');
    const fields = fc.constantFrom('', '-', '-what-the-future-will-bring');
    fc.assert(
      fc.property(later, fields, (version, more) => {
        const valid = `${version}-${TRACE}-${SPAN}-01`;
        expect(parse(valid + more)).toMatchObject({ traceId: TRACE, spanId: SPAN });
        expect(parse(`${valid}.`)).toBeUndefined();
      }),
    );
  });

  it('is ignored when any of its characters is changed', () => {
    const valid = `00-${TRACE}-${SPAN}-01`;
    const other = fc
      .string({ unit: 'binary', minLength: 1 })
      .filter((text) => !/^[\da-f]$/.test(text));
    fc.assert(
      fc.property(fc.nat(valid.length - 1), other, (index, replacement) => {
        fc.pre(replacement !== valid[index]);
        const changed = valid.slice(0, index) + replacement + valid.slice(index + 1);
        // A piece put in may happen to shift digits into another valid form.
        fc.pre(!/^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/.test(changed));
        expect(parse(changed)).toBeUndefined();
      }),
    );
    fc.assert(
      fc.property(fc.nat(valid.length - 1), (end) => parse(valid.slice(0, end)) === undefined),
    );
  });

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['of a forbidden version', `ff-${TRACE}-${SPAN}-01`],
    ['of version 00 with more behind it', `00-${TRACE}-${SPAN}-01-more`],
    ['without a trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['without a parent', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['in capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['given twice', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['given twice, of a version to come', `01-${TRACE}-${SPAN}-01, 01-${TRACE}-${SPAN}-01`],
    ['with something in front', ` 00-${TRACE}-${SPAN}-01`],
  ])('is ignored when it is %s', (_, field) => {
    expect(parse(field)).toBeUndefined();
  });
});

it('the log contains no trace id without a valid one', async () => {
  const service = await startTestService();
  for (const fields of [{ traceparent: `00-${TRACE}-${SPAN}` }, {}]) {
    await service.request('GET', '/plants/1', { headers: { ...fields } });
  }
  await service.stop();
  const lines = service.log.filter(({ msg }) => msg === 'request');
  expect(lines).toMatchObject([{ status: 404 }, { status: 404 }]);
  for (const line of lines) {
    expect(line).not.toHaveProperty('traceId');
    expect(line).not.toHaveProperty('spanId');
  }
});
