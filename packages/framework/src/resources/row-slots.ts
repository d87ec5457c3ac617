import type { Bulkheads } from '../database/bulkheads.js';
import { RowLockedError } from '../database/database-failure.js';
import type { Semaphore } from '../database/semaphore.js';
import { ERRORS } from '../errors/common-errors.js';
import { ServiceException } from '../errors/service.exception.js';
import type { LockedRows, RowKey } from './locked-rows.js';

/** Work on single rows. If another transaction holds one of them, the work waits on a share of the connections of its own. */
export class RowSlots {
  constructor(
    private readonly locked: LockedRows,
    private readonly bulkheads: Bulkheads,
  ) {}

  /** @param work takes one of the slots, and then calls {@link requireFree} */
  async run<Result>(
    keys: readonly RowKey[],
    work: (slots: Semaphore) => Promise<Result>,
  ): Promise<Result> {
    const { locked, bulkheads } = this;
    try {
      if (!this.areLocked(keys)) return await work(bulkheads.updates);
    } catch (error) {
      // While it waited for a slot, other work has waited for a row.
      if (!(error instanceof RowLockedError)) {
        this.note(keys, error);
        throw error;
      }
    }
    try {
      const result = await work(bulkheads.locked);
      for (const key of keys) locked.delete(key);
      return result;
    } catch (error) {
      this.note(keys, error);
      throw error;
    }
  }

  /** @throws RowLockedError */
  requireFree(keys: readonly RowKey[], slots?: Semaphore): void {
    if (slots === this.bulkheads.updates && this.areLocked(keys)) throw new RowLockedError();
  }

  private areLocked(keys: readonly RowKey[]): boolean {
    return keys.some((key) => this.locked.has(key));
  }

  private note(keys: readonly RowKey[], error: unknown): void {
    const isLocked = error instanceof ServiceException && error.kind === ERRORS.rowLocked;
    if (isLocked) for (const key of keys) this.locked.add(key);
  }
}
