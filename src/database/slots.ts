import type { ErrorCode } from '../errors/error-table.js';
import { PlantStoreError } from '../errors/plant-store.error.js';

/** Most tasks that wait for a slot, and their longest wait in milliseconds. */
const WAITING = { tasks: 500, milliseconds: 2_000 } as const;

/** Limits how many tasks run at once, so that other tasks find free connections. */
export class Slots {
  private taken = 0;
  /** In the order of their arrival. Each takes over a slot. */
  private readonly waiting = new Set<() => void>();

  /**
   * @param count of the tasks that run at once
   * @param code of the failure when a task finds no slot in time
   * @param shared slots of several kinds of tasks. Each task takes one of these as well
   */
  constructor(
    private readonly count: number,
    private readonly code: ErrorCode,
    private readonly shared?: Slots,
  ) {}

  /**
   * Runs a task as soon as there is a slot. The wait is bounded.
   *
   * @throws PlantStoreError with the code of these slots
   */
  async run<Result>(task: () => Promise<Result>, code = this.code): Promise<Result> {
    if (this.taken < this.count) this.taken += 1;
    else await this.takeOver(code);
    try {
      return await (this.shared === undefined ? task() : this.shared.run(task, code));
    } finally {
      this.giveBack();
    }
  }

  /**
   * Takes a slot for a task that must not wait.
   *
   * @returns gives the slot back
   * @throws PlantStoreError with the code of these slots
   */
  take(): () => void {
    if (this.taken >= this.count) throw new PlantStoreError(this.code);
    this.taken += 1;
    return () => this.giveBack();
  }

  /** Resolves when another task has handed over its slot. */
  private async takeOver(code: ErrorCode): Promise<void> {
    if (this.waiting.size >= WAITING.tasks) throw new PlantStoreError(code);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(start);
        reject(new PlantStoreError(code));
      }, WAITING.milliseconds);
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.waiting.add(start);
    });
  }

  private giveBack(): void {
    const [next] = this.waiting;
    if (next === undefined) {
      this.taken -= 1;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}
