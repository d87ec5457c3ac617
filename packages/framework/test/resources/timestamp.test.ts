import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseTimestamp } from '../../src/resources/properties/timestamp.js';

const two = (number: number) => String(number).padStart(2, '0');

/** A number of each part of a date-time, also some that no date has. */
const PARTS = fc.record({
  year: fc.oneof(fc.integer({ min: 0, max: 9999 }), fc.constantFrom(0, 1, 4, 99, 1900, 2000, 9999)),
  month: fc.integer({ min: 0, max: 13 }),
  day: fc.oneof(fc.integer({ min: 0, max: 32 }), fc.integer({ min: 28, max: 31 })),
  hour: fc.integer({ min: 0, max: 24 }),
  minute: fc.integer({ min: 0, max: 60 }),
  second: fc.integer({ min: 0, max: 60 }),
  decimals: fc.stringMatching(/^\d{0,3}0{0,6}$/),
  sign: fc.constantFrom('+', '-', 'Z', 'z'),
  offsetHours: fc.integer({ min: 0, max: 24 }),
  offsetMinutes: fc.integer({ min: 0, max: 60 }),
  separator: fc.constantFrom('T', 't'),
});

/** Days before a date of the Gregorian calendar, counted without `Date`. */
function daysBefore(year: number, month: number, day: number): number {
  const past = year - 1;
  const leapDays = Math.floor(past / 4) - Math.floor(past / 100) + Math.floor(past / 400);
  const lengths = daysOfMonths(year).slice(0, month - 1);
  return past * 365 + leapDays + lengths.reduce((sum, length) => sum + length, 0) + day - 1;
}

function daysOfMonths(year: number): readonly number[] {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
}

const DAY = 24 * 60;

it('takes every date-time that exists for the same instant, and no other', () => {
  fc.assert(
    fc.property(PARTS, (parts) => {
      const { year, month, day, hour, minute, second, decimals, sign, separator } = parts;
      const isUtc = sign.toUpperCase() === 'Z';
      const offset = isUtc ? [0, 0] : [parts.offsetHours, parts.offsetMinutes];
      const [offsetHours = 0, offsetMinutes = 0] = offset;
      const text =
        `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}${separator}` +
        `${two(hour)}:${two(minute)}:${two(second)}${decimals === '' ? '' : `.${decimals}`}` +
        `${sign}${isUtc ? '' : `${two(offsetHours)}:${two(offsetMinutes)}`}`;
      const minutes =
        daysBefore(year, month, day) * DAY +
        (hour * 60 + minute) -
        (sign === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes);
      const exists =
        day >= 1 &&
        day <= (daysOfMonths(year)[month - 1] ?? 0) &&
        Math.max(hour, offsetHours) < 24 &&
        Math.max(minute, second, offsetMinutes) < 60 &&
        minutes >= 0 &&
        minutes < daysBefore(10_000, 1, 1) * DAY;
      const milliseconds = Number(decimals.slice(0, 3).padEnd(3, '0'));
      const since1970 = (minutes - daysBefore(1970, 1, 1) * DAY) * 60_000;
      expect(parseTimestamp(text)?.getTime()).toBe(
        exists ? since1970 + second * 1_000 + milliseconds : undefined,
      );
    }),
    { numRuns: 500 },
  );
});

it.each([
  '',
  '2024-060',
  '2024-W05-2',
  '2024-03-01',
  '20240301T000000Z',
  '2024-03-01T10:00:00',
  '2024-03-01 10:00:00Z',
  '2024-03-01T10:00Z',
  '2024-03-01T10:00:00+0100',
  '2024-03-01T10:00:00+01',
  '2024-03-01T10:00:00,5Z',
  '2024-03-01T10:00:00.Z',
  '2024-03-01T10:00:00.0001Z',
  '2024-03-01T10:00:00Z ',
  '2024-03-01T10:00:00Z\n',
  '+002024-03-01T10:00:00Z',
  '-000001-03-01T10:00:00Z',
  '２024-03-01T10:00:00Z',
  '2016-12-31T23:59:60Z',
  'infinity',
])('refuses %j', (text) => {
  expect(parseTimestamp(text)).toBeUndefined();
});
