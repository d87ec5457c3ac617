/* Preloaded into each measured process: reports its usage on request. */

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
// The channel must not keep the process alive.
process.channel?.unref();
