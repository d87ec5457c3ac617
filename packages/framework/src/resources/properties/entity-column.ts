import type { DataSource, Driver, TableColumn } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { OwnText } from '../../database/connections/value-types.js';
import { stringifyExactJson } from '../../json/exact-json.js';
import { INT64_COLUMN } from './int64.js';
import { requireStorable } from './storable.js';
import { TIME_TYPES, timeParameter } from './storable-time.js';
import { TIMESTAMP_COLUMN } from './timestamp.js';

export interface EntityColumn {
  readonly property: string;
  readonly databaseName: string;
  /** The name of the field in JSON, with the colon. */
  readonly jsonName: string;
  /** The quoted identifier in SQL. */
  readonly name: string;
  readonly type: string;
  /** The type with its length or precision, such as `numeric(10,2)`. */
  readonly exactType: string;
  /** Whether a value is read as it was written. PostgreSQL pads, rounds or rewrites values of other types. */
  readonly isVerbatim: boolean;
  readonly isNullable: boolean;
  /** An SQL expression for the bytes of a value; `undefined` if all values are short. */
  readonly bytes: string | undefined;
  /** @throws ServiceException `body-not-valid` if no column can store the value */
  readonly toParameter: (value: unknown) => unknown;
  readonly fromDriver: (value: unknown) => unknown;
  /** Converts a value that the driver has read, other than null. */
  readonly toJson: (value: unknown) => string;
}

/** Types whose stored values have a length that PostgreSQL knows without reading them. */
const TEXT_TYPES = new Set(['text', 'bytea']);

/** For all other types, the length of the text counts. */
const SHORT_TYPES =
  /^((big|small)?int(eger|\d)?|bool(ean)?|real|float\d|double precision|uuid|date|interval|time(stamp)? with(out)? time zone)$/;

const VERBATIM_TYPES =
  /^(text|character varying|varchar|(small)?int(eger|[24])?|bool(ean)?|double precision|float8)$/;

export function entityColumn(dataSource: DataSource, column: ColumnMetadata): EntityColumn {
  const { driver } = dataSource;
  const normalType = driver.normalizeType(column);
  const type = typeOf(normalType, column);
  const name = driver.escape(column.databaseName);
  const isInt64 = type === 'bigint';
  // TypeORM's conversion takes 1 µs for each value. These two types do not need it.
  const isText = type === 'text' && column.transformer === undefined;
  const isBigint = column.transformer === INT64_COLUMN.transformer;
  const fromDriver = isText
    ? (value: unknown) => value
    : isBigint
      ? (value: unknown) => INT64_COLUMN.transformer.from(value as string | null)
      : (value: unknown): unknown =>
          hasOwnText(value) ? textOf(value) : driver.prepareHydratedValue(value, column);
  const parameterOf =
    isText || isBigint
      ? (value: unknown) => (typeof value === 'bigint' ? String(value) : value)
      : type === 'jsonb'
        ? (value: unknown) => documentOf(transformed(column, value))
        : parameterFor(driver, normalType, column);
  return {
    property: column.propertyName,
    databaseName: column.databaseName,
    jsonName: `${JSON.stringify(column.propertyName)}:`,
    name,
    type,
    exactType: driver.createFullType(
      Object.create(column, { type: { value: normalType } }) as TableColumn,
    ),
    isVerbatim:
      isBigint ||
      column.transformer === TIMESTAMP_COLUMN.transformer ||
      (column.transformer === undefined && !column.isArray && VERBATIM_TYPES.test(normalType)),
    isNullable: column.isNullable,
    bytes: bytesOf(name, type, column),
    toParameter: (value) => {
      requireStorable(column.propertyName, value);
      return parameterOf(value);
    },
    fromDriver,
    // The driver reads int8 as text, which is its JSON.
    toJson: isInt64
      ? String
      : isText
        ? JSON.stringify
        : (value) => stringifyExactJson(fromDriver(value)),
  };
}

function parameterFor(
  driver: Driver,
  type: string,
  column: ColumnMetadata,
): (value: unknown) => unknown {
  if (!TIME_TYPES.test(type)) return (value) => driver.preparePersistentValue(value, column);
  // The transformer is applied once.
  const untransformed = Object.create(column, {
    transformer: { value: undefined },
  }) as ColumnMetadata;
  const prepare = (value: unknown): unknown => driver.preparePersistentValue(value, untransformed);
  return (value) => timeParameter(column.propertyName, type, transformed(column, value), prepare);
}

/** TypeORM would write the JSON itself, and round its numbers. */
function documentOf(value: unknown): string | null {
  return value === null || value === undefined ? null : stringifyExactJson(value);
}

function transformed({ transformer }: ColumnMetadata, value: unknown): unknown {
  return [transformer ?? []].flat().reduce<unknown>((found, one) => one.to(found), value);
}

function hasOwnText(value: unknown): value is OwnText | readonly unknown[] {
  return value instanceof OwnText || (Array.isArray(value) && value.some(hasOwnText));
}

function textOf(value: unknown): unknown {
  if (value instanceof OwnText) return value.text;
  return Array.isArray(value) ? value.map(textOf) : value;
}

/** The type of a parameter. A `char(5)` is sent as text, so that its length is checked when it is stored, not cut off. */
function typeOf(type: string, { isArray }: ColumnMetadata): string {
  const base = /^(character|char|varchar)/.test(type) ? 'text' : type;
  return isArray ? `${base}[]` : base;
}

function bytesOf(
  name: string,
  type: string,
  { isNullable, precision }: ColumnMetadata,
): string | undefined {
  // A precision is at most 1,000 digits.
  if (SHORT_TYPES.test(type) || (type === 'numeric' && typeof precision === 'number'))
    return undefined;
  const length = `octet_length(${name}${TEXT_TYPES.has(type) ? '' : '::text'})`;
  return isNullable ? `coalesce(${length}, 0)` : length;
}
