import { Injectable } from '@nestjs/common';
import { Bulkheads, SHORT_LOCK_WAIT } from '../../database/bulkheads.js';
import { RowLockedError } from '../../database/database-error.js';
import type { Semaphore } from '../../database/semaphore.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { LockedRows } from './locked-rows.js';
import type { RowKey } from './locked-rows.js';

/** Runs work on single rows. If another transaction holds one of them, the work waits in a bulkhead of its own. */
@Injectable()
export class RowSlots {
  /** Shared by all resources. */
  readonly locked = new LockedRows();

  constructor(private readonly bulkheads: Bulkheads) {}

  /**
   * @param work takes one of the slots, and then calls {@link requireFree}
   * @param findLocked after the work has failed because of a held row, returns the held rows; by default all count as held
   * @param free the slots for rows that are not known to be held
   */
  async run<Result>(
    keys: readonly RowKey[],
    work: (slots: Semaphore) => Promise<Result>,
    findLocked?: () => Promise<readonly RowKey[]>,
    free = this.bulkheads.updates,
  ): Promise<Result> {
    const { locked, bulkheads } = this;
    const note = async (error: unknown): Promise<void> => {
      if (!(error instanceof ServiceException) || error.kind !== ERRORS.rowLocked) return;
      for (const key of (await findLocked?.()) ?? keys) locked.add(key);
    };
    try {
      if (!this.areLocked(keys)) return await work(free);
    } catch (error) {
      // If other work has found a locked row meanwhile, there is nothing to note.
      if (!this.areLocked(keys)) await note(error);
      if (!(error instanceof RowLockedError)) throw error;
    }
    try {
      const result = await work(bulkheads.locked);
      for (const key of keys) locked.delete(key);
      return result;
    } catch (error) {
      await note(error);
      throw error;
    }
  }

  /** The timeout for a lock in these slots, in milliseconds; `undefined`: the timeout of other locks. */
  lockWaitIn(slots: Semaphore): number | undefined {
    return slots === this.bulkheads.locked ? undefined : SHORT_LOCK_WAIT;
  }

  /** @throws RowLockedError */
  requireFree(keys: readonly RowKey[], slots: Semaphore | undefined): void {
    const isFree = slots !== undefined && slots !== this.bulkheads.locked;
    if (isFree && this.areLocked(keys)) throw new RowLockedError();
  }

  private areLocked(keys: readonly RowKey[]): boolean {
    return keys.some((key) => this.locked.has(key));
  }
}
