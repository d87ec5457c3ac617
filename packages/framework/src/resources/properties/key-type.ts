import { INT64, MAX_INT64, MIN_INT64 } from './int64.js';
import type { Kind } from './kind.js';
import { UUID } from './uuid.js';

/** An id: a `bigint`, or a UUID in its canonical form. */
export type Key = bigint | string;

export interface Keyed {
  readonly id: Key;
}

export interface KeyType extends Kind<Key> {
  readonly least: Key;
  readonly greatest: Key;
  /** The next greater key, or the next lesser one. */
  next(key: Key, step: 1n | -1n): Key;
  fromDriver(value: unknown): Key;
  describe(noun: string): string;
  /** An example of a key without a row. */
  readonly missing: string;
}

const UUID_BITS = 128;

/** By the name of the type in SQL. PostgreSQL compares UUIDs like their texts. */
export const KEY_TYPES: Readonly<Record<'bigint' | 'uuid', KeyType>> = {
  bigint: {
    ...INT64,
    least: MIN_INT64,
    greatest: MAX_INT64,
    next: (key, step) => BigInt(key) + step,
    fromDriver: (value) => BigInt(value as string),
    describe: (noun) =>
      `Identification number of the ${noun}, between ${MIN_INT64} and ${MAX_INT64}, as digits without leading zeros.`,
    missing: '404',
  },
  uuid: {
    ...UUID,
    least: toUuid(0n),
    greatest: toUuid(2n ** BigInt(UUID_BITS) - 1n),
    next: (key, step) => toUuid(BigInt(`0x${String(key).replaceAll('-', '')}`) + step),
    fromDriver: String,
    describe: (noun) => `The id of the ${noun}, with hyphens, in any case.`,
    missing: '01920000-0000-7000-8000-000000000404',
  },
};

/** An id as its row has it: a caller may have a UUID in any case, and PostgreSQL finds it. */
export function storedKey<Id extends Key>(id: Id): Id {
  return (typeof id === 'string' ? id.toLowerCase() : id) as Id;
}

function toUuid(value: bigint): string {
  const digits = value.toString(16).padStart(UUID_BITS / 4, '0');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
