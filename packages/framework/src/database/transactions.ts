import { Injectable } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { Bulkheads } from './bulkheads.js';
import { CommitHooks } from './commit-hooks.js';
import type { CommitHook } from './commit-hooks.js';
import type { LockWait } from './connections/lock-wait.js';
import type { PoolClient } from './connections/pool-client.js';
import { RowLockedError } from './database-error.js';
import { insideTransaction } from './lock-waits/inside-transaction.js';
import { repeatAfterConflict } from './repeat-after-conflict.js';
import type { Semaphore } from './semaphore.js';
import { requireTransaction } from './statements.js';

/** Runs several statements as one transaction (docs/framework/transactions.md). */
@Injectable()
export class Transactions {
  constructor(
    private readonly dataSource: DataSource,
    private readonly bulkheads: Bulkheads,
    private readonly hooks: CommitHooks,
  ) {}

  /**
   * Commits all that `work` does, or nothing if it throws. Repeats it a few times if PostgreSQL rolled it back
   * because of concurrent transactions, so `work` must have no effects outside of the database: these belong in
   * {@link afterCommit}. It must be short, because it holds locks and a connection.
   *
   * @param work uses only this manager: `manager.withRepository(…)`, `statements.in(manager)`
   * @param outer of a transaction that has begun: `work` becomes part of it
   * @throws ServiceException `too-many-changes`, `row-locked`, `transaction-conflict`, or as after any error of the
   *   database
   * @throws Error if `outer` has no transaction
   *
   * @example
   * await this.transactions.run(async (manager) => {
   *   await this.loans.remove(id, { manager, actor });
   *   await this.tools.patch(toolId, { borrower: null }, { manager });
   * });
   */
  async run<Result>(
    work: (manager: EntityManager) => Promise<Result>,
    outer?: EntityManager,
  ): Promise<Result> {
    if (outer !== undefined) {
      requireTransaction(outer);
      return work(outer);
    }
    const ownWork = (manager: EntityManager) => insideTransaction(() => work(manager));
    return this.bulkheads.apart(this.bulkheads.transactions, (lockWait) =>
      repeatAfterConflict(() => this.attempt(ownWork, lockWait)),
    );
  }

  /**
   * Runs `hook` once, after the commit of the transaction, and never after a rollback, also if the transaction was repeated. Nothing
   * waits for it: what it throws is logged. It is lost if the process ends, or if the reply to COMMIT is.
   *
   * @param manager of a transaction of {@link run} or of `Idempotency`
   * @param hook gets a signal that aborts after 30 s
   * @throws ServiceException `overloaded` if too many of them have not ended
   *
   * @example this.transactions.afterCommit(manager, (signal) => this.mailer.send(loan, signal));
   */
  afterCommit(manager: EntityManager, hook: CommitHook): void {
    this.hooks.add(requireTransaction(manager), hook);
  }

  /**
   * Like {@link run}, in one of these slots.
   *
   * @param lockWait how long a statement waits for a lock, in milliseconds; by default as long as others do
   * @throws RowLockedError if it has waited for longer
   */
  async runIn<Result>(
    slots: Semaphore,
    work: (manager: EntityManager) => Promise<Result>,
    lockWait?: number,
  ): Promise<Result> {
    return slots.run(() => repeatAfterConflict(() => this.attempt(work, lockWait)));
  }

  /**
   * Once PostgreSQL has ended a wait for a lock because of the limit, nothing is committed, even if `work` wraps the
   * error or goes on after a savepoint.
   */
  private async attempt<Result>(
    work: (manager: EntityManager) => Promise<Result>,
    lockWait: number | undefined,
  ): Promise<Result> {
    const limits: LockWait[] = [];
    const requireNotOver = (): void => {
      if (limits.some(({ isOver }) => isOver)) throw new RowLockedError();
    };
    // Query runners of other managers take slots by themselves (typeorm-waits.ts).
    const runner = this.dataSource.driver.createQueryRunner('master');
    this.hooks.expect(runner);
    let committed: Result;
    try {
      committed = await new EntityManager(this.dataSource, runner).transaction(async (manager) => {
        if (lockWait !== undefined) {
          const client = (await requireTransaction(manager).connect()) as PoolClient;
          limits.push(client.limitLockWait(lockWait));
        }
        const result = await work(manager);
        requireNotOver();
        return result;
      });
    } catch (error) {
      requireNotOver();
      throw error;
    } finally {
      await runner.release();
    }
    this.hooks.run(runner);
    return committed;
  }
}
