import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** In milliseconds. It includes migrations. */
const START_TIMEOUT = 120_000;

const STOP_TIMEOUT = 30_000;

/** The service as a process with a group of its own, so that a kill also ends what it has started. */
export class ServiceProcess {
  #child: ChildProcess | undefined;

  constructor(
    private readonly command: string,
    private readonly url: string,
  ) {}

  /** Starts it, and waits until it responds. */
  async start(): Promise<void> {
    if (await this.#responds()) throw new Error(`something listens at ${this.url} already`);
    const child = spawn(this.command, { shell: true, detached: true, stdio: 'ignore' });
    this.#child = child;
    const end = performance.now() + START_TIMEOUT;
    while (!(await this.#responds())) {
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`the command has ended: ${this.command}`);
      }
      if (performance.now() > end) throw new Error(`nothing responds at ${this.url}`);
      await sleep(100);
    }
  }

  /** As `kill -9`. */
  kill(): Promise<void> {
    return this.#signal('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#signal('SIGTERM');
    await this.kill();
  }

  async #signal(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'exit');
    process.kill(-child.pid, signal);
    await Promise.race([closed, sleep(STOP_TIMEOUT, undefined, { ref: false })]);
  }

  async #responds(): Promise<boolean> {
    try {
      await (
        await fetch(this.url, { redirect: 'manual', signal: AbortSignal.timeout(5_000) })
      ).text();
      return true;
    } catch {
      return false;
    }
  }
}
