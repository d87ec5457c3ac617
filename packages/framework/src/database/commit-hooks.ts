import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleDestroy } from '@nestjs/common';
import type { Logger } from 'pino';
import type { QueryRunner } from 'typeorm';
import { unlessAborted, waitAtMost } from '../bounds/waits.js';
import { ERRORS } from '../errors/common-errors.js';
import { ServiceException } from '../errors/service.exception.js';
import { LOGGER } from '../observability/logger.js';

/** How many run at once or are registered in a transaction, how long each may take, and how long a shutdown waits, in milliseconds. */
export const AFTER_COMMIT = { count: 1_000, time: 30_000, shutdown: 3_000 } as const;

/** Gets a signal that aborts when its time is over. */
export type CommitHook = (signal: AbortSignal) => unknown;

/** What runs after commits, and keeps no response waiting. */
@Injectable()
export class CommitHooks implements OnModuleDestroy {
  private readonly registered = new WeakMap<QueryRunner, CommitHook[]>();
  private readonly running = new Set<Promise<void>>();

  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  async onModuleDestroy(): Promise<void> {
    await waitAtMost(AFTER_COMMIT.shutdown, Promise.all(this.running));
  }

  /** Lets work be registered for the transaction of a runner. */
  expect(runner: QueryRunner): void {
    this.registered.set(runner, []);
  }

  /**
   * @throws ServiceException `overloaded`, before the commit: what cannot run later is not committed
   * @throws Error for a transaction that {@link expect} does not know
   */
  add(runner: QueryRunner, hook: CommitHook): void {
    const hooks = this.registered.get(runner);
    if (hooks === undefined) {
      throw new Error(
        'afterCommit() needs the manager that `Transactions.run()` or `Idempotency.once()` gives to `work`',
      );
    }
    if (this.running.size + hooks.length >= AFTER_COMMIT.count) {
      throw new ServiceException(ERRORS.overloaded);
    }
    hooks.push(hook);
  }

  run(runner: QueryRunner): void {
    for (const hook of this.registered.get(runner) ?? []) {
      const done = this.perform(hook).finally(() => this.running.delete(done));
      this.running.add(done);
    }
  }

  private async perform(hook: CommitHook): Promise<void> {
    const signal = AbortSignal.timeout(AFTER_COMMIT.time);
    try {
      // Also if it throws at once.
      await unlessAborted(signal, Promise.resolve(signal).then(hook));
    } catch (error) {
      const reason = signal.aborted ? 'it has not ended in time' : 'it has thrown';
      this.logger.error({ event: 'after-commit', err: error }, `work after a commit: ${reason}`);
    }
  }
}
