import type { DataSource, Driver, TableColumn } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { OwnText } from '../../database/connections/stored-types.js';
import { stringifyExactJson } from '../../json/exact-json.js';
import { INT64_COLUMN } from './int64.js';
import { requireStorable } from './storable.js';
import { TIME_TYPES, timeParameter } from './storable-time.js';
import { TIMESTAMP_COLUMN } from './timestamp.js';

/** A column of an entity, as statements and answers use it. */
export interface EntityColumn {
  readonly property: string;
  readonly databaseName: string;
  /** The name of the member in JSON, with the colon. */
  readonly jsonName: string;
  /** As an identifier of SQL, in quotation marks. */
  readonly name: string;
  /** The type in SQL, such as `bigint`. */
  readonly type: string;
  /** The same with its length or precision, such as `numeric(10,2)`. */
  readonly exactType: string;
  /** Whether a value is read as it was written. PostgreSQL pads, rounds or rewrites values of other types. */
  readonly isVerbatim: boolean;
  readonly isNullable: boolean;
  /** An expression of the number of bytes that a value has; `undefined` if all values are short. */
  readonly bytes: string | undefined;
  /** Whether the column has JSON. */
  readonly isDocument: boolean;
  /** Whether only {@link toParameter} has each value: TypeORM would round the numbers of JSON, and make a `Date` of `infinity`. */
  readonly isPrepared: boolean;
  /**
   * The parameter of a statement for a value of the property.
   *
   * @throws ServiceException `body-not-valid` if no column can hold the value
   */
  readonly toParameter: (value: unknown) => unknown;
  /** The value of the property for a value that the driver has read. */
  readonly fromDriver: (value: unknown) => unknown;
  /** The JSON of a value that the driver has read, which is not null. */
  readonly toJson: (value: unknown) => string;
}

/** Types of which a value can be as long as a body. */
const TEXT_TYPES = new Set(['text', 'bytea']);

/** Types whose values are short. Of all others, the length of the text counts. */
const SHORT_TYPES =
  /^((big|small)?int(eger|\d)?|bool(ean)?|real|float\d|double precision|uuid|date|interval|time(stamp)? with(out)? time zone)$/;

/** Types whose values are read as they were written, if nothing converts them. */
const VERBATIM_TYPES =
  /^(text|character varying|varchar|(small)?int(eger|[24])?|bool(ean)?|double precision|float8)$/;

/** @throws TypeError for types that no statement can have */
export function entityColumn(dataSource: DataSource, column: ColumnMetadata): EntityColumn {
  const { driver } = dataSource;
  const normalType = driver.normalizeType(column);
  const type = typeOf(normalType, column);
  const name = driver.escape(column.databaseName);
  const isInt64 = type === 'bigint';
  const isDocument = type === 'jsonb';
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
      : isDocument
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
    isDocument,
    isPrepared: isDocument || TIME_TYPES.test(normalType),
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

/**
 * The type of a parameter. As text, a value for `char(5)` gets its length checked when it is stored, and is not cut off.
 *
 * @throws TypeError for types that cannot be compared (`json`), or whose arrays have a name of their own (`enum`)
 */
function typeOf(type: string, { propertyPath, isArray }: ColumnMetadata): string {
  const instead = { json: 'jsonb', enum: 'text', 'simple-enum': 'text', bit: 'text' }[type];
  if (instead !== undefined) {
    throw new TypeError(`${propertyPath} cannot have the type ${type}: use ${instead}`);
  }
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
  // PostgreSQL knows the length of a stored text without reading the text.
  const length = `octet_length(${name}${TEXT_TYPES.has(type) ? '' : '::text'})`;
  return isNullable ? `coalesce(${length}, 0)` : length;
}
