import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { ExactNumber } from '../../json/exact-number.js';

/** Types with a day, in TypeORM's normal form. */
export const TIME_TYPES = /^(date|timestamp( with(out)? time zone)?|timestamptz)$/;

/** Words that PostgreSQL reads as a time (manual, chapter 8.5.1.4). */
const WORDS = /^([+-]?infinity|epoch|now|today|tomorrow|yesterday)$/i;

/** ISO 8601, and PostgreSQL's output (manual, chapter 8.5). */
const ISO =
  /^(\d{4,7})-(\d\d)-(\d\d)(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?: ?Z| ?[+-](?:0\d|1[0-5])(?::?[0-5]\d(?::[0-5]\d)?)?)?)?( BC)?$/i;

/** PostgreSQL's first and last years, as `Date` counts (manual, table 8.9). */
const FIRST = -4_712;
const LAST = 294_276;
const LAST_OF_DAYS = 5_874_897;

/**
 * The parameter for a value of such a column. TypeORM would make an invalid `Date` of some texts that PostgreSQL and responses have:
 * `infinity`, and years that a `Date` does not reach. These stay text.
 *
 * @param prepare TypeORM's conversion
 * @throws ServiceException `body-not-valid`
 */
export function timeParameter(
  property: string,
  type: string,
  value: unknown,
  prepare: (value: unknown) => unknown,
): unknown {
  if (value === null || value === undefined) return value;
  if (Array.isArray(value)) {
    const prepareItem = (item: unknown): unknown =>
      EXPANDED.test(String(item)) ? new Date(String(item)) : item;
    return value.map((item: unknown) => timeParameter(property, type, item, prepareItem));
  }
  const isDay = type === 'date';
  if (typeof value === 'string' && isTime(value, isDay)) {
    const [, year = ''] = ISO.exec(value) ?? [];
    const isText = WORDS.test(value) || year.length > 4 || / BC$/i.test(value);
    return isText ? value : prepare(value);
  }
  if (value instanceof Date && isWithin(value.getUTCFullYear(), isDay)) return prepare(value);
  // A transformer has made it.
  if (typeof value === 'object' && 'toPostgres' in value && !(value instanceof ExactNumber)) {
    return value;
  }
  throw new ServiceException(ERRORS.bodyNotValid, `${property} must be an existing time`);
}

/** The form in which `Date` writes years without four digits. */
const EXPANDED = /^[+-]\d{6}-/;

function isTime(text: string, isDay: boolean): boolean {
  if (WORDS.test(text)) return true;
  const [iso, year, month, day, isBefore] = ISO.exec(text) ?? [];
  if (iso === undefined) {
    if (isDay && EXPANDED.test(text)) return false;
    // Other forms are left to TypeORM, and to PostgreSQL; both read 20260102 as well.
    return /^\d{8}$/.test(text) || isWithin(new Date(text).getUTCFullYear(), isDay);
  }
  const fullYear = isBefore === undefined ? Number(year) : 1 - Number(year);
  // The calendar repeats after 400 years, and `Date` takes 30 February for 1 March.
  const date = new Date(Date.UTC(10_000 + (fullYear % 400), Number(month) - 1, Number(day)));
  const exists = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  return exists && Number(year) > 0 && isWithin(fullYear, isDay);
}

/** Also false for the year of an invalid `Date`, which is `NaN`. */
function isWithin(year: number, isDay: boolean): boolean {
  return year >= FIRST && year <= (isDay ? LAST_OF_DAYS : LAST);
}
