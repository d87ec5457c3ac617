import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Counts until it is called. */
type Count = () => Promise<number | undefined>;

/**
 * Counts the instructions that a process executes in user space, by `perf`. The count is `undefined` where the program is missing, or the
 * counters of the processor, as in most virtual machines. It takes some milliseconds until `perf` counts.
 */
export function countInstructions(pid: number): Count {
  // perf-stat(1): the first two fields of a line are the value and its unit.
  const options = ['--field-separator', ',', '--event', 'instructions:u', '--pid', String(pid)];
  const perf = spawn('perf', ['stat', ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(perf, 'exit').catch(() => undefined);
  const report = text(perf.stderr);
  return async () => {
    perf.kill('SIGINT');
    await ended;
    const [, count] = /^(\d+),/m.exec(await report) ?? [];
    return count === undefined ? undefined : Number(count);
  };
}
