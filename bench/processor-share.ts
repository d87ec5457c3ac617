import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Microseconds; the processors are given out anew after each. Docker's are ten times as long, and so are its pauses. */
const PERIOD = 10_000;

/**
 * Processes that together may use so much of the machine's processors and no more, as the limit of a
 * container says: a control group (Linux, Documentation/admin-guide/cgroup-v2.rst). Only root makes these.
 */
export class ProcessorShare {
  private constructor(private readonly folder: string) {}

  /** @param processors how many, such as 0.5 */
  static async create(name: string, processors: number): Promise<ProcessorShare> {
    const root = await mountOfControlGroups();
    await writeFile(join(root, 'cgroup.subtree_control'), '+cpu');
    const folder = join(root, `plant-store-bench-${process.pid}-${name}`);
    await mkdir(folder);
    await writeFile(join(folder, 'cpu.max'), `${Math.round(processors * PERIOD)} ${PERIOD}`);
    return new ProcessorShare(folder);
  }

  /** Takes a process with the children it has and will have. */
  async adopt(pid: number): Promise<void> {
    await writeFile(join(this.folder, 'cgroup.procs'), String(pid));
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    for (const child of children.split(' ').filter(Boolean)) await this.adopt(Number(child));
  }

  /** Processor time so far, in microseconds. */
  async used(): Promise<number> {
    const stat = await readFile(join(this.folder, 'cpu.stat'), 'utf8');
    return Number(/^usage_usec (\d+)$/m.exec(stat)?.[1]);
  }

  /** Once its processes have ended. */
  async remove(): Promise<void> {
    await rmdir(this.folder);
  }
}

async function mountOfControlGroups(): Promise<string> {
  const mounts = await readFile('/proc/self/mounts', 'utf8');
  const root = /^\S+ (\S+) cgroup2 /m.exec(mounts)?.[1];
  if (root === undefined) throw new Error('this needs Linux with control groups of version 2');
  return root;
}
