/** The bounds of everything the database is waited for, in milliseconds. */
export const DATABASE_LIMITS = {
  /** For a connection: a new one, or one of the pool. */
  connection: 2_000,
  /** For one statement, by the server's clock. */
  statement: 5_000,
  /** For one statement, by our own: the server may hang, or be gone without a word. */
  reply: 6_000,
  /** For an unused connection to be closed. */
  idle: 30_000,
} as const;
