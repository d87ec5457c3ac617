import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** In milliseconds. */
const STEP = 25;

/** Messages in a step. The least, 80 in a second, take a few hundredths of a processor. */
export const BUDGET = { least: 2, most: 256 } as const;

/** The share of the time in which the event loop has something to do, above which messages leave the rest to requests. */
const BUSY = 0.5;

/** Lets messages be sent in the time that requests leave, and a few in any case. */
export class Pace {
  /** How many may be sent in a step. */
  budget: number = BUDGET.least;
  private left = 0;
  private readonly waiting: (() => void)[] = [];
  private usage = performance.eventLoopUtilization();
  private isRunning = false;

  /** Resolves when a message may be sent, in the order of the calls. */
  next(): Promise<void> {
    if (this.left > 0) {
      this.left -= 1;
      return Promise.resolve();
    }
    const turn = new Promise<void>((resolve) => this.waiting.push(resolve));
    if (!this.isRunning) void this.run();
    return turn;
  }

  /** While somebody waits: nobody who comes after a rest does. */
  private async run(): Promise<void> {
    this.isRunning = true;
    for (; this.waiting.length > 0; await sleep(STEP, undefined, { ref: false })) {
      const now = performance.eventLoopUtilization();
      this.adjust(performance.eventLoopUtilization(now, this.usage).utilization);
      this.usage = now;
      const next = this.waiting.splice(0, this.budget);
      this.left = this.budget - next.length;
      for (const resolve of next) resolve();
    }
    this.left = 0;
    this.isRunning = false;
  }

  private adjust(utilization: number): void {
    const budget = utilization > BUSY ? this.budget / 2 : this.budget * 2;
    this.budget = Math.min(Math.max(budget, BUDGET.least), BUDGET.most);
  }
}
