/** A kind of failure, as clients see it. */
export interface ErrorKind {
  /** Such as `body-missing`. */
  readonly code: string;
  /** Value of the member `error`, an int32 that begins with the status: {@link ErrorRange}. Never reused for another failure. */
  readonly number: number;
  /** The default message, also used in the documentation. */
  readonly message: string;
  /** What a client should do, for the documentation. */
  readonly remedy: string;
  /** Whether the same request can succeed later. */
  readonly isTemporary: boolean;
}

/**
 * What the numbers of a resource end with: 20 to 29 for status × 100 + 20 and so on, or from 100 on, such as 100 to 199, for
 * status × 100,000 + 100 and so on.
 */
export type ErrorRange = readonly [first: number, last: number];

/**
 * The range of what every service has, and of the resources whose numbers were published before there were ranges.
 */
export const SERVICE_RANGE: ErrorRange = [0, 19];

/** By which the status is multiplied. */
const SHORT = 100;
const LONG = 100_000;

/** The first end of a long number. */
const LONG_FROM = 100;

const kinds = new Map<number, ErrorKind>();
const ranges = new Set<ErrorRange>();

/**
 * Defines the failures of a resource. Each resource has a range of numbers of its own, so that two teams never take the same
 * one.
 *
 * @param definitions by name in camel case, from which the code is made
 * @throws RangeError if the range has a number of another range, if a number is outside the range, and if a number or a
 * code is defined already. The service does not start then
 */
export function defineErrors<Name extends string>(
  range: ErrorRange,
  definitions: Readonly<Record<Name, Omit<ErrorKind, 'code' | 'isTemporary'>>>,
): Readonly<Record<Name, ErrorKind>> {
  const [first, last] = range;
  if (first < LONG_FROM && last >= LONG_FROM) {
    throw new RangeError(`the range ${range.join(' to ')} has short and long numbers`);
  }
  for (const other of ranges) {
    if (other !== range && first <= other[1] && other[0] <= last) {
      throw new RangeError(`the range ${range.join(' to ')} overlaps ${other.join(' to ')}`);
    }
  }
  ranges.add(range);
  const defined = Object.entries<Omit<ErrorKind, 'code' | 'isTemporary'>>(definitions).map(
    ([name, definition]) => {
      const { number } = definition;
      const code = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      const kind: ErrorKind = {
        code,
        isTemporary: isTemporary(statusOf(number)),
        ...definition,
      };
      const factor = first < LONG_FROM ? SHORT : LONG;
      const n = number % factor;
      if (number < 400 * factor || number >= 600 * factor || n < first || n > last) {
        throw new RangeError(`${code}: ${number} is no status × ${factor} + ${first} to ${last}`);
      }
      for (const other of kinds.values()) {
        if (other.number === number) throw new RangeError(`${code}: ${number} is ${other.code}`);
        if (other.code === code) throw new RangeError(`${code} is ${other.number} already`);
      }
      kinds.set(number, kind);
      return [name, kind] as const;
    },
  );
  return Object.fromEntries(defined) as Record<Name, ErrorKind>;
}

/** The HTTP status of the number of an error. */
export function statusOf(number: number): number {
  return Math.floor(number / (number < LONG ? SHORT : LONG));
}

/** Whether a request can succeed later: too many requests, and unavailable. */
export function isTemporary(status: number): boolean {
  return status === 429 || status === 503;
}

/** All failures of the resources that are loaded, in the order of their numbers. */
export function allErrors(): readonly ErrorKind[] {
  return [...kinds.values()].toSorted((one, other) => one.number - other.number);
}
