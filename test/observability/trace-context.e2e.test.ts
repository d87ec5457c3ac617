import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callerTrace } from '../../src/observability/trace-context.js';
import { PATIENCE } from '../support/patience.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

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
    fc.assert(
      fc.property(
        later,
        fc.constantFrom('', '-', '-what-the-future-will-bring'),
        (version, more) => {
          expect(parse(`${version}-${TRACE}-${SPAN}-01${more}`)).toMatchObject({
            traceId: TRACE,
            spanId: SPAN,
          });
          if (more === '') expect(parse(`${version}-${TRACE}-${SPAN}-01.`)).toBeUndefined();
        },
      ),
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

describe('the log', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService();
  });

  afterAll(() => service.stop());

  /** The line about one request. */
  async function lineOf(id: string, headers: Record<string, string>) {
    await service.request('GET', '/plants/1', { headers: { 'X-Request-Id': id, ...headers } });
    return await vi.waitFor(() => {
      const line = service.log.find(({ requestId }) => requestId === id);
      expect(line).toBeDefined();
      return line;
    }, PATIENCE);
  }

  it('contains the trace id of the client', async () => {
    const line = await lineOf('traced', { traceparent: `00-${TRACE}-${SPAN}-01` });
    expect(line).toMatchObject({ msg: 'request', traceId: TRACE, spanId: SPAN });
  });

  it('contains no trace id without a valid one', async () => {
    const invalid = await lineOf('invalid', { traceparent: `00-${TRACE}-${SPAN}` });
    expect(invalid).toMatchObject({ msg: 'request', status: 404 });
    for (const line of [invalid, await lineOf('without', {})]) {
      expect(Object.keys(line ?? {})).not.toContain('traceId');
      expect(Object.keys(line ?? {})).not.toContain('spanId');
    }
  });
});
