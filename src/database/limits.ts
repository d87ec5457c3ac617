/** Timeouts of the database, in milliseconds. */
export const DATABASE_LIMITS = {
  /** For a new connection, and for a free connection of the pool. */
  connection: 2_000,
  /** For a statement, enforced by the server. */
  statement: 5_000,
  /** For a statement, enforced by the service: the server may hang, or disappear without closing the connection. */
  reply: 6_000,
  /**
   * For a lock that another transaction holds, enforced by the server. Longer than `deadlock_timeout`, by default 1 s,
   * after which the server looks for a deadlock. Otherwise it would report each deadlock as a lock timeout.
   */
  lock: 1_200,
  /** For the next statement of a transaction, enforced by the server: this process was paused, and holds locks. */
  idleInTransaction: 5_000,
  /** For an idle connection. */
  idle: 30_000,
  /** For a connection, so that a former user or password is out of use after this time. */
  lifetime: 900_000,
} as const;
