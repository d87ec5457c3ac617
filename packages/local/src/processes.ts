import { setTimeout as sleep } from 'node:timers/promises';

/** Between two checks of a process, in milliseconds. */
export const POLL_INTERVAL = 20;

/** Between two signals, in milliseconds. */
const END_TIMEOUT = 10_000;

/** Sends a signal (0: none). Returns whether the process exists. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Sends the signals one after the other until the process has ended. */
export async function end(
  pid: number | undefined,
  signals: readonly NodeJS.Signals[],
  hasEnded: (pid: number) => boolean | Promise<boolean>,
): Promise<void> {
  for (const signal of signals) {
    if (pid === undefined || (await hasEnded(pid))) return;
    sendSignal(pid, signal);
    const deadline = performance.now() + END_TIMEOUT;
    while (!(await hasEnded(pid)) && performance.now() < deadline) await sleep(POLL_INTERVAL);
  }
}
