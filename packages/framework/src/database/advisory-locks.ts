/**
 * Keys of the advisory locks of a whole database (PostgreSQL manual, chapter 13.3.5). They are all here, because whoever
 * takes the key of another waits for it, but 7_526_841_014, which `@resource-service/local` has. Any other number works for a new lock; a key that a release has used keeps its
 * meaning, because instances of two releases run side by side. Functions of a table use keys whose upper 32 bits are
 * its object id, 16384 or more. Those of the keys here are 1.
 */
export const ADVISORY_LOCKS = {
  /** The instance that migrates holds it. */
  migrations: 7_526_841_013,
  /** The replica that cleans an index of searches holds it. */
  searchIndex: 7_526_841_015,
  /** Whoever issues a token holds it, so that no two exceed a limit together. */
  tokenIssuance: 7_526_841_017,
} as const;
