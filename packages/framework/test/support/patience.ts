/** How long a test waits for what should happen at once, in milliseconds: long enough for a busy machine. */
export const PATIENCE = 60_000;

/** In milliseconds. */
const TICK = 10;

/**
 * How long the work took by the clock of this process, in milliseconds. The clock counts the ticks of a timer, so it stands still while other
 * processes have the processor: the service in this process makes no progress then either. Compared with real time, a bound would fail on a
 * busy machine.
 */
export async function processTimeOf(work: Promise<unknown>): Promise<number> {
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), TICK);
  await work.finally(() => clearInterval(timer));
  return ticks * TICK;
}

/** Calls back after this time by the clock of {@link processTimeOf}, in milliseconds. Returns how to cancel the call. */
export function afterProcessTime(milliseconds: number, call: () => void): () => void {
  let left = milliseconds;
  const timer = setInterval(() => {
    left -= TICK;
    if (left > 0) return;
    clearInterval(timer);
    call();
  }, TICK);
  return () => clearInterval(timer);
}
