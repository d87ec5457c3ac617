import pg from 'pg';
import type { CustomTypesConfig } from 'pg';
import { parseStoredJson } from '../../json/exact-json.js';

const { types } = pg;
const {
  DATE,
  FLOAT4,
  FLOAT8,
  INT8,
  INTERVAL,
  JSON: JSON_TYPE,
  JSONB,
  TIMESTAMP,
  TIMESTAMPTZ,
} = types.builtins;

/** Types of arrays, which the driver does not name, by the types of their elements. */
const ARRAYS: Readonly<Record<number, number>> = {
  [DATE]: 1182,
  [TIMESTAMP]: 1115,
  [TIMESTAMPTZ]: 1185,
  [FLOAT4]: 1021,
  [FLOAT8]: 1022,
  [INTERVAL]: 1187,
  [JSON_TYPE]: 199,
  [JSONB]: 3807,
};

/** A time in another style than ISO, or infinite. */
export class UnreadableTimeError extends TypeError {
  constructor(text: string) {
    super(`the driver cannot read the time "${text}"`);
  }
}

/** The text of a value that JavaScript or JSON cannot express, such as `infinity`. */
export class OwnText {
  constructor(readonly text: string) {}
}

type Parse = (text: string) => unknown;

/** Its declared type is wrong. */
const arrays = types.arrayParser as unknown as {
  create(text: string, element: (text: string | null) => unknown): { parse(): unknown[] };
};

function withParsers(
  others: CustomTypesConfig,
  parsers: Readonly<Record<number, Parse>>,
): CustomTypesConfig {
  const all = new Map<number, Parse>();
  for (const [key, parse] of Object.entries(parsers)) {
    const oid = Number(key);
    const element = (text: string | null) => (text === null ? null : parse(text));
    all.set(oid, parse);
    if (ARRAYS[oid]) all.set(ARRAYS[oid], (text) => arrays.create(text, element).parse());
  }
  return {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      (format === 'binary' ? undefined : all.get(oid)) ?? others.getTypeParser(oid, format),
  };
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

export const VALUE_TYPES = withParsers(types, {
  [DATE]: timeOf(DATE),
  [TIMESTAMP]: timeOf(TIMESTAMP),
  [TIMESTAMPTZ]: timeOf(TIMESTAMPTZ),
  // The driver returns the text as well, after a search for other characters than digits.
  [INT8]: (text) => text,
});

/** In the style ISO, years have four digits or more. */
const ISO = /^(-?infinity|\d{4,}-\d\d-\d\d( [\d:.]+([+-][\d:]+)?)?( BC)?)$/;

/** A `Date`, or the text of a time that a `Date` cannot be. A time in another style still fails. */
function storedTimeOf(oid: number): Parse {
  const parse = timeOf(oid);
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (ISO.test(text)) return new OwnText(text);
      throw error;
    }
  };
}

/** A day is text in JSON. A `Date` would have it in the time zone of the process. */
function dayOf(text: string): unknown {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return text;
  if (ISO.test(text)) return new OwnText(text);
  throw new UnreadableTimeError(text);
}

/** JSON has no number that is not finite. */
function floatOf(text: string): unknown {
  const number = Number(text);
  return Number.isFinite(number) ? number : new OwnText(text);
}

function intervalOf(text: string): unknown {
  const parse = types.getTypeParser(INTERVAL) as Parse;
  return text.endsWith('infinity') ? new OwnText(text) : parse(text);
}

/**
 * For rows of resources: one with a value that JavaScript cannot hold must not make the others of a list unreadable,
 * and documents keep their digits. Values that decide something, such as the end of a token, are {@link VALUE_TYPES}.
 */
export const STORED_TYPES = withParsers(VALUE_TYPES, {
  [DATE]: dayOf,
  [TIMESTAMP]: storedTimeOf(TIMESTAMP),
  [TIMESTAMPTZ]: storedTimeOf(TIMESTAMPTZ),
  [FLOAT4]: floatOf,
  [FLOAT8]: floatOf,
  [INTERVAL]: intervalOf,
  [JSON_TYPE]: parseStoredJson,
  [JSONB]: parseStoredJson,
});

/** Leaves each value in the text of PostgreSQL, to be converted later. */
export const UNREAD_TYPES: CustomTypesConfig = { getTypeParser: () => (text: string) => text };
