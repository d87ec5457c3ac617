import { readFile } from 'node:fs/promises';
import type { ProcessUsage } from './process-usage.js';

/** Microseconds of a tick in `/proc/<pid>/stat` (proc_pid_stat(5), `utime`); all of Linux has this one. */
const TICK = 10_000;

/** Processor time of a process with its children so far, in microseconds, without children that have ended. */
export async function familyTimeOf(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const pids = [pid, ...children.split(' ').filter(Boolean).map(Number)];
  const usages = await Promise.all(pids.map((one) => usageOf(one).catch(() => ({ cpu: 0 }))));
  return usages.reduce((sum, { cpu }) => sum + cpu, 0);
}

/** The usage of any process, as Linux counts it: processor time in steps of 10 ms. */
export async function usageOf(pid: number): Promise<ProcessUsage> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  // The 12th and the 13th field after the name, which may contain anything.
  const [user, system] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14);
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return { cpu: (Number(user) + Number(system)) * TICK, memory: Number(resident) * 1024 };
}

/** The most resident memory of a process so far, in bytes, as Linux counts it. */
export async function peakMemoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
