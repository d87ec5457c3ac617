import type { Logger } from 'pino';
import type { Timeline } from './pool-client.js';

/** Tells servers that were replaced by a newer primary. */
export class Timelines {
  /** The newest of a server that was reached. */
  private newest: Timeline | undefined;

  /** Servers with an older timeline that were reported. */
  private readonly replaced = new Set<string>();

  constructor(private readonly logger: Logger) {}

  /**
   * @param server host and port
   * @throws Error if the server was replaced
   */
  check(timeline: Timeline, server: string): void {
    const { number } = timeline;
    const newest = timeline.system === this.newest?.system ? this.newest.number : 0;
    if (number >= newest) {
      this.newest = timeline;
      return;
    }
    const reason = `the server is on timeline ${number}, but timeline ${newest} exists`;
    // Whoever writes to this server by another way loses what is written.
    if (!this.replaced.has(server)) {
      this.logger.error({ server, reason }, 'a replaced primary is still running');
    }
    this.replaced.add(server);
    throw new Error(reason);
  }
}
