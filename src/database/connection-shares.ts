import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { ERRORS } from '../errors/common-errors.js';
import { Slots } from './slots.js';

/** Connections that only creates and look-ups use: the creates and look-ups of all resources. */
const RESERVED = 2;

/**
 * How many connections of the pool each kind of task may use at once. Creates and look-ups have no share: their groups
 * find a free connection whatever the others do, unless the pool has only one or two.
 */
@Injectable()
export class ConnectionShares {
  readonly lists: Slots;
  readonly searches: Slots;
  readonly exports: Slots;
  /** Followers of changes that are far behind, of whom there can be thousands, and those that miss a few. */
  readonly followers: Readonly<Record<'far' | 'near', Slots>>;
  readonly changes: Slots;
  /** Creates and changes that wait for rows which other transactions hold. */
  readonly locked: Slots;

  constructor(@Inject(CONFIG) { database }: Config) {
    const { poolMax } = database;
    const all = new Slots(Math.max(1, poolMax - RESERVED), ERRORS.poolExhausted);
    const share = (part: number) => Math.max(1, Math.floor(poolMax * part));
    this.lists = new Slots(share(0.3), ERRORS.tooManyLists, all);
    this.searches = new Slots(share(0.2), ERRORS.tooManySearches, all);
    this.exports = new Slots(share(0.2), ERRORS.tooManyExports, all);
    this.followers = {
      far: new Slots(share(0.2), ERRORS.poolExhausted, all),
      near: new Slots(share(0.2), ERRORS.poolExhausted, all),
    };
    this.changes = new Slots(share(0.3), ERRORS.tooManyChanges, all);
    this.locked = new Slots(share(0.2), ERRORS.rowLocked, all);
  }
}
