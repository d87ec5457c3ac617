import type { ErrorKind } from '../errors/error-kind.js';
import { ServiceException } from '../errors/service.exception.js';
import { DATABASE_LIMITS } from './limits.js';

export const MAX_WAITING = 500;

/** Limits how many tasks run at once, so that other tasks find free connections. The wait is bounded. */
export class Semaphore {
  private taken = 0;
  /** In the order of their arrival. Each takes over a slot. */
  private readonly waiting = new Set<() => void>();
  private readonly held = new Map<string, number>();

  /**
   * @param error when a task finds no slot in time
   * @param shared slots of several kinds of tasks. Each task takes one of these as well
   * @param longestWait in milliseconds
   */
  constructor(
    private readonly count: number,
    private readonly error: ErrorKind,
    private readonly shared?: Semaphore,
    private readonly longestWait: number = DATABASE_LIMITS.slot,
  ) {}

  get used(): number {
    return this.taken;
  }

  get isFree(): boolean {
    return this.taken < this.count;
  }

  /** @throws ServiceException of the kind of these slots, or of the shared slots if others have taken those */
  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.taken < this.count) this.taken += 1;
    else await this.takeOver();
    try {
      return await (this.shared === undefined ? task() : this.shared.run(task));
    } finally {
      this.giveBack();
    }
  }

  /**
   * Takes a slot for a task that must not wait.
   *
   * @param holder may have as many slots as are free: a single one half of all, two a third each, so that there is
   *   always one for another (the dynamic thresholds of Choudhury and Hahne, doi:10.1109/90.664262)
   * @returns gives the slot back
   * @throws ServiceException of the kind of these slots
   */
  take(holder?: string): () => void {
    const others = holder === undefined ? 0 : (this.held.get(holder) ?? 0);
    if (this.taken + others >= this.count) throw new ServiceException(this.error);
    this.taken += 1;
    if (holder !== undefined) this.held.set(holder, others + 1);
    return () => {
      if (holder !== undefined) this.release(holder);
      this.giveBack();
    };
  }

  private async takeOver(): Promise<void> {
    if (this.waiting.size >= MAX_WAITING) throw new ServiceException(this.error);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(start);
        reject(new ServiceException(this.error));
      }, this.longestWait);
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.waiting.add(start);
    });
  }

  private release(holder: string): void {
    const others = this.held.get(holder)! - 1;
    if (others === 0) this.held.delete(holder);
    else this.held.set(holder, others);
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
