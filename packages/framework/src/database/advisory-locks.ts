import { escapeLiteral } from 'pg';

/**
 * All in one place, because two users of one key wait for each other. The upper 32 bits are 1 here, and an object id, 16384
 * or more, for a table or an index. A key that a release has used keeps its meaning: instances of two releases run side by
 * side. `@resource-service/local` has 7_526_841_014, releases up to 1.2 have 7_526_841_015 and 7_526_841_017, too.
 */
export const ADVISORY_LOCKS = {
  /**
   * Held by the instance that migrates, whatever its schema: two migrations at a time would make an extension twice, change
   * the same row of a catalog, or wait for each other's snapshots.
   */
  migrations: 7_526_841_013,
  /** The upper 32 bits of locks with a name, which are 3. */
  named: 3 * 2 ** 32,
} as const;

/** An expression for the key of a table or an index in the search path, so that services with a schema each share none. */
export function lockOf(relation: string): string {
  return `${escapeLiteral(relation)}::regclass::oid::bigint << 32 | 1`;
}
