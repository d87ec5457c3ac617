/**
 * All in one place, because two users of one key wait for each other. `@resource-service/local` has 7_526_841_014. A key
 * that a release has used keeps its meaning: instances of two releases run side by side. Functions of a table use keys
 * whose upper 32 bits are its object id, 16384 or more; here, these bits are 1.
 */
export const ADVISORY_LOCKS = {
  /** Held by the instance that migrates. */
  migrations: 7_526_841_013,
  /** Held by the replica that cleans an index of searches. */
  searchIndex: 7_526_841_015,
  /** For issuing a token, so that two together do not exceed a limit. */
  tokenIssuance: 7_526_841_017,
  /** The upper 32 bits of locks with a name, which are 3. */
  named: 3 * 2 ** 32,
} as const;
