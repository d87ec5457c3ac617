import { inject } from 'vitest';
import { DATABASE_LIMITS } from '../../src/database/limits.js';
import type { DatabaseLimits } from '../../src/database/limits.js';
import { PATIENT } from '../../src/testing/patient-limits.js';

export { PATIENT };

declare module 'vitest' {
  interface ProvidedContext {
    readonly hasRealTimeouts?: boolean;
  }
}

/** How long a test waits for what should happen at once, in milliseconds: long enough for a busy machine. */
export const PATIENCE = 60_000;

/** Limits for a service of a test that chooses none. */
export function defaultLimits(): DatabaseLimits {
  return inject('hasRealTimeouts') === true ? DATABASE_LIMITS : { ...DATABASE_LIMITS, ...PATIENT };
}

/** In milliseconds. */
const TICK = 10;

/**
 * How long the work took by the clock of this process, in milliseconds. The clock stands still while other processes have the processor: the
 * service in this process makes no progress then either. Compared with real time, a bound would fail on a busy machine.
 */
export async function processTimeOf(work: Promise<unknown>): Promise<number> {
  const clock = new ProcessClock();
  const timer = setInterval(() => clock.tick(), TICK);
  await work.finally(() => clearInterval(timer));
  return clock.milliseconds;
}

/** Calls back after this time by the clock of {@link processTimeOf}, in milliseconds. Returns how to cancel the call. */
export function afterProcessTime(milliseconds: number, call: () => void): () => void {
  const clock = new ProcessClock();
  const timer = setInterval(() => {
    clock.tick();
    if (clock.milliseconds < milliseconds) return;
    clearInterval(timer);
    call();
  }, TICK);
  return () => clearInterval(timer);
}

/** Counts the ticks of a timer, or the processor time if that is more: while the process keeps its own event loop busy, no timer ticks. */
class ProcessClock {
  private readonly begin = performance.now();
  private readonly used = process.cpuUsage();
  private ticks = 0;

  tick(): void {
    this.ticks += 1;
  }

  get milliseconds(): number {
    const { user, system } = process.cpuUsage(this.used);
    // Several threads can use more than there was.
    const busy = Math.min((user + system) / 1_000, performance.now() - this.begin);
    return Math.max(this.ticks * TICK, busy);
  }
}
