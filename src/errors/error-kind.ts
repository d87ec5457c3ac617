/** A kind of failure, as clients see it. */
export interface ErrorKind {
  /** Such as `body-missing`. */
  readonly code: string;
  /** Value of the member `error`: status × 100 + n. Never reused for another failure. */
  readonly number: number;
  /** The default message, also used in the documentation. */
  readonly message: string;
  /** What a client should do, for the documentation. */
  readonly remedy: string;
  /** Seconds to wait, if the same request can succeed later: by default 1 with the statuses 429 and 503. */
  readonly retryAfter?: number;
  /** What the challenge to a client without valid credentials says (RFC 6750, section 3). */
  readonly challenge?: string;
}

const kinds = new Map<number, ErrorKind>();

/**
 * Defines the failures of a feature. The numbers of each feature have a range of their own for n, so that two teams never
 * take the same one: 0 to 19 belong to the service and to plants.
 *
 * @param range of the last two digits of the numbers
 * @param definitions by name in camel case, from which the code is made
 * @throws RangeError if a number is outside the range, or is defined already. The service does not start then
 */
export function defineErrors<Name extends string>(
  [first, last]: readonly [first: number, last: number],
  definitions: Readonly<Record<Name, Omit<ErrorKind, 'code'>>>,
): Readonly<Record<Name, ErrorKind>> {
  const defined = Object.entries<Omit<ErrorKind, 'code'>>(definitions).map(([name, definition]) => {
    const code = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const isTemporary = /^(429|503)/.test(String(definition.number));
    const kind: ErrorKind = { code, ...(isTemporary && { retryAfter: 1 }), ...definition };
    const n = kind.number % 100;
    const other = kinds.get(kind.number);
    if (kind.number < 40_000 || kind.number > 59_999 || n < first || n > last) {
      throw new RangeError(`${code}: ${kind.number} is no status × 100 + ${first} to ${last}`);
    }
    if (other !== undefined) throw new RangeError(`${code}: ${kind.number} is ${other.code}`);
    kinds.set(kind.number, kind);
    return [name, kind] as const;
  });
  return Object.fromEntries(defined) as Record<Name, ErrorKind>;
}

/** All failures of the features that are loaded, in the order of their numbers. */
export function allErrors(): readonly ErrorKind[] {
  return [...kinds.values()].toSorted((one, other) => one.number - other.number);
}
