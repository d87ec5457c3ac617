import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { ERRORS } from '../errors/common-errors.js';
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
  /** Followers of changes that are far behind, of whom there can be thousands, and those that miss a few. */
  readonly followers: Readonly<Record<'far' | 'near', Semaphore>>;
  /** Changes of single rows, and creates whose ids the database makes. */
  readonly updates: Semaphore;
  /** Transactions of the service itself. */
  readonly transactions: Semaphore;
  /** Creates, changes and transactions that wait for rows which other transactions hold. */
  readonly locked: Semaphore;

  constructor(@Inject(CONFIG) { database }: Config) {
    const { poolMax } = database;
    const all = new Semaphore(Math.max(1, poolMax - RESERVED), ERRORS.poolExhausted);
    const share = (part: number) => Math.max(1, Math.floor(poolMax * part));
    this.lists = new Semaphore(share(0.3), ERRORS.tooManyLists, all);
    this.searches = new Semaphore(share(0.2), ERRORS.tooManySearches, all);
    this.exports = new Semaphore(share(0.2), ERRORS.tooManyExports, all);
    this.followers = {
      far: new Semaphore(share(0.2), ERRORS.poolExhausted, all),
      near: new Semaphore(share(0.2), ERRORS.poolExhausted, all),
    };
    this.updates = new Semaphore(share(0.3), ERRORS.tooManyChanges, all);
    this.transactions = new Semaphore(share(0.3), ERRORS.tooManyChanges, all);
    this.locked = new Semaphore(share(0.2), ERRORS.rowLocked, all);
  }
}
