import { escapeLiteral } from 'pg';

/*
 * All keys in one place, because two users of one key wait for each other. The upper 32 bits are 1 for the database, and
 * an object id, 16384 or more, for a table or an index. `@resource-service/local` has 7_526_841_014, releases up to 1.2
 * have 7_526_841_015 and 7_526_841_017, too.
 */

/**
 * Held by the instance that migrates, also in another schema: two migrations at a time would make an extension twice,
 * change the same row of a catalog, or wait for each other's snapshots.
 */
export const MIGRATION_LOCK = 7_526_841_013;

/** An expression for the key of a table or an index in the search path, so that services with a schema each share none. */
export function lockOf(relation: string): string {
  return `${escapeLiteral(relation)}::regclass::oid::bigint << 32 | 1`;
}
