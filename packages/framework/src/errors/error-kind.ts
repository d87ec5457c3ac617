/** A kind of error, as clients see it. */
export interface ErrorKind {
  /** Such as `body-missing`. */
  readonly code: string;
  /** The field `error`, an int32 that begins with the status ({@link ErrorRange}). Never reused for another error. */
  readonly number: number;
  /** The default message, also used in the documentation. */
  readonly message: string;
  /** What a client should do, for the documentation. */
  readonly remedy: string;
  /** Whether the same request can succeed later. */
  readonly isTemporary: boolean;
}

/**
 * The last digits of the numbers of a resource: 20 to 29 for status × 100 + 20 and so on, or 100 to 199 for status × 100,000 +
 * 100 and so on.
 */
export type ErrorRange = readonly [first: number, last: number];

/**
 * Of every service, and of resources whose numbers were published before there were ranges.
 *
 * @example defineErrors(SERVICE_RANGE, { noSuchTool: { number: 40401, message: 'there is no such tool', remedy: 'Check the id' } });
 */
export const SERVICE_RANGE: ErrorRange = [0, 19];

const SHORT = 100;
const LONG = 100_000;

const LONG_FROM = 100;

const kinds = new Map<number, ErrorKind>();
const ranges = new Set<ErrorRange>();

/**
 * Defines the errors of a resource. Each resource has a range of numbers, so that two teams never take one number.
 *
 * @param definitions by name in camel case, from which the code is made
 * @throws RangeError if ranges overlap, a number is outside the range, or a number or code is defined already
 *
 * @example
 * export const TOOL_ERRORS = defineErrors([20, 29], {
 *   toolNotFound: { number: 40420, message: 'there is no tool with this id', remedy: 'Check the id' },
 * });
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

export function statusOf(number: number): number {
  return Math.floor(number / (number < LONG ? SHORT : LONG));
}

export function isTemporary(status: number): boolean {
  return status === 429 || status === 503;
}

/**
 * All errors of the loaded resources, sorted by number, for the generated client.
 *
 * @example await writeClient({ identity: IDENTITY, document, errors: allErrors(), license: 'MIT' }, 'dist-client');
 */
export function allErrors(): readonly ErrorKind[] {
  return [...kinds.values()].toSorted((one, other) => one.number - other.number);
}
