import pg from 'pg';
import type { CustomTypesConfig } from 'pg';
import { parseStoredJson } from '../../json/stored-json.js';
import { arrayParser, VALUE_TYPES } from './value-types.js';
import type { Parse } from './value-types.js';

const {
  DATE,
  FLOAT4,
  FLOAT8,
  INTERVAL,
  JSON: JSON_TYPE,
  JSONB,
  TIMESTAMP,
  TIMESTAMPTZ,
} = pg.types.builtins;

/** Types of arrays, which the driver does not name, and the types of their elements. */
const ARRAYS = {
  1182: DATE,
  1115: TIMESTAMP,
  1185: TIMESTAMPTZ,
  1021: FLOAT4,
  1022: FLOAT8,
  1187: INTERVAL,
  199: JSON_TYPE,
  3807: JSONB,
} as const;

/** The text of a value that JavaScript or JSON cannot express, such as `infinity`. */
export class OwnText {
  constructor(readonly text: string) {}
}

/** In the style ISO, years have four digits or more. */
const ISO = /^(-?infinity|\d{4,}-\d\d-\d\d( [\d:.]+([+-][\d:]+)?)?( BC)?)$/;

const parserOf = (oid: number): Parse => VALUE_TYPES.getTypeParser(oid, 'text') as Parse;

/** A `Date`, or the text of a time that a `Date` cannot be. A time in another style still fails. */
function timeOf(oid: number): Parse {
  const parse = parserOf(oid);
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
  return ISO.test(text) ? new OwnText(text) : parserOf(DATE)(text);
}

/** JSON has no number that is not finite. */
function floatOf(text: string): unknown {
  const number = Number(text);
  return Number.isFinite(number) ? number : new OwnText(text);
}

function intervalOf(text: string): unknown {
  return text.endsWith('infinity') ? new OwnText(text) : parserOf(INTERVAL)(text);
}

const PARSERS = new Map<number, Parse>([
  [DATE, dayOf],
  [TIMESTAMP, timeOf(TIMESTAMP)],
  [TIMESTAMPTZ, timeOf(TIMESTAMPTZ)],
  [FLOAT4, floatOf],
  [FLOAT8, floatOf],
  [INTERVAL, intervalOf],
  [JSON_TYPE, parseStoredJson],
  [JSONB, parseStoredJson],
]);
for (const [array, oid] of Object.entries(ARRAYS)) {
  PARSERS.set(Number(array), arrayParser(PARSERS.get(oid)!));
}

/**
 * How the rows of resources are read: a row with a value that JavaScript cannot hold must not make the others of a
 * list unreadable, and documents keep their digits. Values that decide something, such as the end of a token, are
 * read with {@link VALUE_TYPES}, which fails for a time that it cannot read.
 */
export const STORED_TYPES: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (format === 'binary' ? undefined : PARSERS.get(oid)) ?? VALUE_TYPES.getTypeParser(oid, format),
};
