import { Inject, Injectable, Optional } from '@nestjs/common';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { ERRORS } from '../errors/common-errors.js';
import type { ErrorKind } from '../errors/error-kind.js';
import { RowLockedError } from './database-error.js';
import { transactionDepth } from './lock-waits/inside-transaction.js';
import { DATABASE_LIMITS, GIVEN_DATABASE_LIMITS } from './limits.js';
import type { DatabaseLimits } from './limits.js';
import { Semaphore } from './semaphore.js';

/** Connections for the creates and look-ups of all resources only. */
export const RESERVED = 2;

/** Fractions of the connections that each kind of task may use at once. */
export const POOL_FRACTIONS = {
  lists: 0.3,
  searches: 0.2,
  exports: 0.2,
  updates: 0.3,
  transactions: 0.3,
  locked: 0.2,
} as const;

/**
 * The first wait of a statement for a lock, in milliseconds: for a few commits. After a longer one, its transaction
 * is rolled back and repeated among others that wait for rows.
 */
export const SHORT_LOCK_WAIT = 100;

const NESTED =
  'a transaction inside of another needs a third connection, and none is free: pass the manager that `Transactions.run()` gives to `work`';

class Connections extends Semaphore {
  private readonly spare: Semaphore;

  constructor(poolMax: number, limits: DatabaseLimits) {
    const count = Math.max(1, poolMax - RESERVED);
    super(count, ERRORS.poolExhausted, undefined, limits.slot);
    // One of the reserved connections; in a pool of up to three, each.
    const spare = poolMax > 3 ? 1 : Math.max(1, poolMax - count);
    this.spare = new Semaphore(spare, ERRORS.poolExhausted, undefined, limits.slot);
  }

  /**
   * Runs a task for which a transaction waits that holds a connection. Such tasks must not wait for each other: each takes a
   * free slot or waits for a spare one, and those for which such a task waits in turn take a free slot or fail.
   */
  beside<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.isFree) return this.run(task);
    if (transactionDepth() > 1 && !this.spare.isFree) throw new TypeError(NESTED);
    return this.spare.run(task);
  }
}

class Bulkhead extends Semaphore {
  constructor(
    count: number,
    error: ErrorKind,
    private readonly connections: Connections,
    longestWait: number,
  ) {
    super(count, error, connections, longestWait);
  }

  override async run<Result>(task: () => Promise<Result>): Promise<Result> {
    return transactionDepth() > 0 ? this.connections.beside(task) : super.run(task);
  }
}

/**
 * Bulkheads: how many connections of the pool each kind of task may use at once. Creates and look-ups have none: their
 * groups always find a free connection, unless the pool has only one or two.
 */
@Injectable()
export class Bulkheads {
  readonly lists: Semaphore;
  readonly searches: Semaphore;
  readonly exports: Semaphore;
  /** Changes of single rows, and creates whose ids the database makes. */
  readonly updates: Semaphore;
  readonly transactions: Semaphore;
  /** Transactions that TypeORM begins, which cannot be repeated. */
  readonly unrepeatable: Semaphore;
  /** The service's own statements outside of transactions. */
  readonly statements: Semaphore;
  /** Tasks that wait for rows which other transactions hold, and can be repeated. */
  readonly locked: Semaphore;

  private readonly all: Connections;
  private readonly poolMax: number;

  constructor(
    @Inject(CONFIG) { database }: Config,
    @Optional()
    @Inject(GIVEN_DATABASE_LIMITS)
    private readonly limits: DatabaseLimits = DATABASE_LIMITS,
  ) {
    this.poolMax = database.poolMax;
    this.all = new Connections(this.poolMax, limits);
    this.lists = this.share(POOL_FRACTIONS.lists, ERRORS.tooManyLists);
    this.searches = this.share(POOL_FRACTIONS.searches, ERRORS.tooManySearches);
    this.exports = this.share(POOL_FRACTIONS.exports, ERRORS.tooManyExports);
    this.updates = this.share(POOL_FRACTIONS.updates, ERRORS.tooManyChanges);
    this.transactions = this.share(POOL_FRACTIONS.transactions, ERRORS.tooManyChanges);
    this.unrepeatable = this.share(POOL_FRACTIONS.transactions, ERRORS.tooManyChanges);
    this.statements = this.share(1, ERRORS.poolExhausted);
    this.locked = this.share(POOL_FRACTIONS.locked, ERRORS.rowLocked);
  }

  /**
   * @param part of the pool
   * @param error when a task finds no connection in time
   */
  share(part: number, error: ErrorKind): Semaphore {
    const count = Math.max(1, Math.floor(this.poolMax * part));
    return new Bulkhead(count, error, this.all, this.limits.slot);
  }

  /**
   * Runs the service's own task. If another transaction holds a row that it needs, it is repeated among others that
   * wait for rows. Inside of a transaction, it does not wait for slots, which other transactions could hold while
   * they wait for slots as well.
   *
   * @param attempt throws RowLockedError if a statement has waited for a lock for so many milliseconds; by default as
   *   long as others do
   */
  async apart<Result>(
    free: Semaphore,
    attempt: (lockWait?: number) => Promise<Result>,
  ): Promise<Result> {
    if (transactionDepth() > 0) return free.run(() => attempt());
    try {
      return await free.run(() => attempt(SHORT_LOCK_WAIT));
    } catch (error) {
      if (!(error instanceof RowLockedError)) throw error;
    }
    return this.locked.run(() => attempt());
  }
}
