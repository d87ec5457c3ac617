import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { usageOf } from './process-table.js';

/** Scheduling period in microseconds. Docker's period is ten times as long, and so are its pauses. */
const PERIOD = 10_000;

/**
 * Processes that together may use so much of the machine's processors and no more, as the limit of a
 * container says: a control group (cgroups(7)). Only root makes these.
 */
export class ProcessorShare {
  private constructor(private readonly folder: string) {}

  /** @param processors how many, such as 0.5 */
  static async create(name: string, processors: number): Promise<ProcessorShare> {
    const mounts = await readFile('/proc/self/mounts', 'utf8');
    const quota = String(Math.round(processors * PERIOD));
    // Version 1 of control groups if the system still uses it for processors, otherwise version 2.
    const first = /^\S+ (\S+) cgroup \S*\bcpu\b/m.exec(mounts)?.[1];
    const root = first ?? /^\S+ (\S+) cgroup2 /m.exec(mounts)?.[1];
    if (root === undefined) throw new Error('this needs control groups, which Linux has');
    const folder = join(root, `plant-store-bench-${process.pid}-${name}`);
    const set = (file: string, value: string) => writeFile(join(folder, file), value);
    if (first === undefined) await writeFile(join(root, 'cgroup.subtree_control'), '+cpu');
    await mkdir(folder);
    if (first === undefined) {
      await set('cpu.max', `${quota} ${PERIOD}`);
    } else {
      await set('cpu.cfs_period_us', String(PERIOD));
      await set('cpu.cfs_quota_us', quota);
    }
    return new ProcessorShare(folder);
  }

  /** Adds a process with its present and future children. */
  async adopt(pid: number): Promise<void> {
    await writeFile(join(this.folder, 'cgroup.procs'), String(pid));
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    for (const child of children.split(' ').filter(Boolean)) await this.adopt(Number(child));
  }

  /** Processor time so far, in microseconds, without processes that have ended. */
  async used(): Promise<number> {
    const pids = await readFile(join(this.folder, 'cgroup.procs'), 'utf8');
    const usages = await Promise.all(
      pids
        .split('\n')
        .filter(Boolean)
        .map((pid) => usageOf(Number(pid)).catch(() => ({ cpu: 0 }))),
    );
    return usages.reduce((sum, { cpu }) => sum + cpu, 0);
  }

  /** Once its processes have ended. */
  async remove(): Promise<void> {
    await rmdir(this.folder);
  }
}
