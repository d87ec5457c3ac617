import { MAX_INT64, MIN_INT64 } from './int64.js';

/** An id: a `bigint`, or a UUID in its canonical form. */
export type Key = bigint | string;

/** An entity with a key. */
export interface Keyed {
  readonly id: Key;
}

/** What is true of all keys of a type. */
export interface KeyType {
  readonly least: Key;
  readonly greatest: Key;
  /** The least key that is greater. */
  after(key: Key): Key;
  /** The greatest key that is less. */
  before(key: Key): Key;
  /** The key for a value that the driver has read. */
  fromDriver(value: unknown): Key;
}

const UUID_BITS = 128;

/** By the name of the type in SQL. PostgreSQL compares UUIDs like their texts. */
export const KEY_TYPES: Readonly<Record<string, KeyType>> = {
  bigint: {
    least: MIN_INT64,
    greatest: MAX_INT64,
    after: (key) => BigInt(key) + 1n,
    before: (key) => BigInt(key) - 1n,
    fromDriver: (value) => BigInt(value as string),
  },
  uuid: {
    least: toUuid(0n),
    greatest: toUuid(2n ** BigInt(UUID_BITS) - 1n),
    after: (key) => toUuid(numberOf(key) + 1n),
    before: (key) => toUuid(numberOf(key) - 1n),
    fromDriver: String,
  },
};

function numberOf(uuid: Key): bigint {
  return BigInt(`0x${String(uuid).replaceAll('-', '')}`);
}

function toUuid(value: bigint): string {
  const digits = value.toString(16).padStart(UUID_BITS / 4, '0');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
