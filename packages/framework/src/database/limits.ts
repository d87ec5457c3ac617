/** Timeouts of the database, in milliseconds. */
export const DATABASE_LIMITS = {
  /** The wait for a connection, a new one or a free one of the pool. */
  connection: 2_000,
  /** The wait of a create in the queue; then its client should rather retry. */
  queue: 2_000,
  /** The wait of a task until others of its kind leave it a connection. */
  slot: 2_000,
  statement: 5_000,
  /** The service gives a statement up: the server may hang, or disappear without closing the connection. */
  reply: 6_000,
  /** A group of creates that the database rejects is split up for this time. */
  bisection: 1_000,
  /**
   * The wait for a lock of another transaction. It is longer than `deadlock_timeout`, by default 1 s: otherwise the
   * server would report each deadlock as a lock timeout.
   */
  lock: 1_200,
  /** The server waits this long for the next statement of a transaction: a paused process holds locks. */
  idleInTransaction: 5_000,
  idle: 30_000,
  /** The age at which the pool closes a connection, so that a former user or password gets out of use. */
  lifetime: 900_000,
} as const;

export const GIVEN_DATABASE_LIMITS = Symbol('GIVEN_DATABASE_LIMITS');

/** What a test can shorten or prolong. The others are settings of the database, chosen by its operator. */
export type DatabaseLimits = Readonly<
  Record<Exclude<keyof typeof DATABASE_LIMITS, 'lock' | 'idleInTransaction'>, number>
>;
