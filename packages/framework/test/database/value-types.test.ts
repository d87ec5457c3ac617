import { expect, it } from 'vitest';
import { VALUE_TYPES } from '../../src/database/connections/value-types.js';

/** Which the types of the driver do not name. */
const TIMES = 1185 as never;

it('an array of times keeps what is null, and fails for a time that cannot be read', () => {
  const parse = VALUE_TYPES.getTypeParser(TIMES, 'text') as (text: string) => unknown;
  expect(parse('{"2026-01-02 03:04:05+00",NULL}')).toEqual([
    new Date('2026-01-02T03:04:05Z'),
    null,
  ]);
  expect(() => parse('{"02.01.2026 03:04:05 UTC"}')).toThrow('cannot read the time');
});

it('values in the binary format are read as the driver reads them', () => {
  expect(VALUE_TYPES.getTypeParser(16, 'binary')(Buffer.from([1]) as never)).toBe(true);
});
