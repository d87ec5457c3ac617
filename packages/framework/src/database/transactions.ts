import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { EntityManager } from 'typeorm';
import { Bulkheads } from './bulkheads.js';
import { repeatAfterConflict } from './repeat-after-conflict.js';
import { requireTransaction } from './statements.js';

/** Runs several statements as one transaction (docs/framework/transactions.md). */
@Injectable()
export class Transactions {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly bulkheads: Bulkheads,
  ) {}

  /**
   * Commits what `work` does as a whole, or nothing if it throws. Repeats it a few times if PostgreSQL rolled it back
   * because of concurrent transactions. So `work` can run more than once, and must have no effects outside of the
   * database. It must be short, because it holds locks and a connection.
   *
   * @param work uses only this manager: `manager.withRepository(…)`, `statements.in(manager)`
   * @param outer of a transaction that has begun: `work` becomes part of it
   * @param slots of which a transaction of its own takes one
   * @throws ServiceException `too-many-changes`, `transaction-conflict`, or as after any failure of the database
   * @throws Error if `outer` has no transaction
   */
  async run<Result>(
    work: (manager: EntityManager) => Promise<Result>,
    outer?: EntityManager,
    slots = this.bulkheads.updates,
  ): Promise<Result> {
    if (outer !== undefined) {
      requireTransaction(outer);
      return work(outer);
    }
    return slots.run(() => repeatAfterConflict(() => this.dataSource.transaction(work)));
  }
}
