/** Timeouts of the database, in milliseconds. */
export const DATABASE_LIMITS = {
  /** A new connection, or a free one of the pool, comes within this time. */
  connection: 2_000,
  /** A create waits this long in the queue. Then its client should rather retry. */
  queue: 2_000,
  /** A task waits this long until others of its kind leave it a connection. */
  slot: 2_000,
  /** The server ends a statement after this time. */
  statement: 5_000,
  /** The service gives a statement up after this time: the server may hang, or disappear without closing the connection. */
  reply: 6_000,
  /** A group of creates of which the database rejects some is split up for this time. */
  halving: 1_000,
  /**
   * The server ends the wait for a lock of another transaction after this time. It is longer than `deadlock_timeout`, by default 1 s,
   * after which the server looks for a deadlock. Otherwise it would report each deadlock as a lock timeout.
   */
  lock: 1_200,
  /** The server waits this long for the next statement of a transaction: this process was paused, and holds locks. */
  idleInTransaction: 5_000,
  /** The pool closes a connection that was idle for this time. */
  idle: 30_000,
  /** The pool closes any connection of this age, so that a former user or password is out of use. */
  lifetime: 900_000,
} as const;

/** Injection token of other {@link DatabaseLimits}. */
export const GIVEN_DATABASE_LIMITS = Symbol('GIVEN_DATABASE_LIMITS');

/** What a test can shorten or prolong. The others are settings of the database, which its operator can choose. */
export type DatabaseLimits = Readonly<
  Record<Exclude<keyof typeof DATABASE_LIMITS, 'lock' | 'idleInTransaction'>, number>
>;
