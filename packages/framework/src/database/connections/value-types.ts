import pg from 'pg';
import type { CustomTypesConfig } from 'pg';

const { types } = pg;
const { DATE, INT8, TIMESTAMP, TIMESTAMPTZ } = types.builtins;

/** Types of arrays, which the driver does not name, and the types of their elements. */
const ARRAYS = { 1182: DATE, 1115: TIMESTAMP, 1185: TIMESTAMPTZ } as const;

/** A time in another style than ISO, or infinite. */
export class UnreadableTimeError extends TypeError {
  constructor(text: string) {
    super(`the driver cannot read the time "${text}"`);
  }
}

export type Parse = (text: string) => unknown;

/** Its declared type is wrong. */
const arrays = types.arrayParser as unknown as {
  create(text: string, element: (text: string | null) => unknown): { parse(): unknown[] };
};

export function arrayParser(parse: Parse): Parse {
  const element = (text: string | null) => (text === null ? null : parse(text));
  return (text) => arrays.create(text, element).parse();
}

/**
 * The driver returns null for a time in another style than ISO. In many columns, null means never, or not yet, so a
 * time that cannot be read must fail. So must infinity, which is no `Date`.
 */
function timeOf(oid: number): Parse {
  const parse = types.getTypeParser(oid) as Parse;
  return (text) => {
    const time = parse(text);
    if (time instanceof Date && !Number.isNaN(time.getTime())) return time;
    throw new UnreadableTimeError(text);
  };
}

const PARSERS = new Map<number, Parse>(
  [DATE, TIMESTAMP, TIMESTAMPTZ].map((oid) => [oid, timeOf(oid)]),
);
// The driver returns the text as well, after a search for other characters than digits.
PARSERS.set(INT8, (text) => text);
for (const [array, oid] of Object.entries(ARRAYS)) {
  PARSERS.set(Number(array), arrayParser(PARSERS.get(oid)!));
}

export const VALUE_TYPES: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (format === 'binary' ? undefined : PARSERS.get(oid)) ?? types.getTypeParser(oid, format),
};
