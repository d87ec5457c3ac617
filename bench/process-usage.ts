/* Preloaded into each process that is measured: tells its usage when it is asked. */

export interface ProcessUsage {
  /** Processor time since the process began, in microseconds. */
  readonly cpu: number;
  /** Resident memory, in bytes. */
  readonly memory: number;
}

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const usage: ProcessUsage = { cpu: user + system, memory: process.memoryUsage.rss() };
  process.send?.(usage);
});
// Being asked is no reason to stay alive.
process.channel?.unref();
