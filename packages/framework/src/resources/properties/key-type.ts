import { MAX_INT64, MIN_INT64 } from './int64.js';

/** An id: a `bigint`, or a UUID in its canonical form. */
export type Key = bigint | string;

export interface Keyed {
  readonly id: Key;
}

export interface KeyType {
  readonly least: Key;
  readonly greatest: Key;
  /** The next greater key. */
  after(key: Key): Key;
  /** The next lesser key. */
  before(key: Key): Key;
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
