import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { ERRORS } from '../errors/common-errors.js';
import type { ErrorKind } from '../errors/error-kind.js';
import { Semaphore } from './semaphore.js';

/** Connections that only creates and look-ups use: the creates and look-ups of all resources. */
const RESERVED = 2;

/**
 * How many connections of the pool each kind of task may use at once. Creates and look-ups have no share: their groups
 * find a free connection whatever the others do, unless the pool has only one or two.
 */
@Injectable()
export class Bulkheads {
  readonly lists: Semaphore;
  readonly searches: Semaphore;
  readonly exports: Semaphore;
  /** Changes of single rows, and creates whose ids the database makes. */
  readonly updates: Semaphore;
  /** Transactions of the service itself. */
  readonly transactions: Semaphore;
  /** Creates, changes and transactions that wait for rows which other transactions hold. */
  readonly locked: Semaphore;

  private readonly all: Semaphore;
  private readonly poolMax: number;

  constructor(@Inject(CONFIG) { database }: Config) {
    this.poolMax = database.poolMax;
    this.all = new Semaphore(Math.max(1, this.poolMax - RESERVED), ERRORS.poolExhausted);
    this.lists = this.share(0.3, ERRORS.tooManyLists);
    this.searches = this.share(0.2, ERRORS.tooManySearches);
    this.exports = this.share(0.2, ERRORS.tooManyExports);
    this.updates = this.share(0.3, ERRORS.tooManyChanges);
    this.transactions = this.share(0.3, ERRORS.tooManyChanges);
    this.locked = this.share(0.2, ERRORS.rowLocked);
  }

  /**
   * Connections for another kind of tasks.
   *
   * @param part of the pool
   * @param failure when a task finds no connection in time
   */
  share(part: number, failure: ErrorKind): Semaphore {
    return new Semaphore(Math.max(1, Math.floor(this.poolMax * part)), failure, this.all);
  }
}
