import type { Logger } from 'pino';

/** A branch of the WAL of a cluster. Each promotion begins a new one (manual, chapter 25.3.6). */
export interface Timeline {
  /** Identifies the cluster. */
  readonly system: string;
  readonly number: number;
}

/** The name of a WAL file begins with the timeline. The control file would have it only after the next checkpoint. */
export const TIMELINE = `SELECT system_identifier::text AS system,
    left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) AS timeline
  FROM pg_control_system()`;

/** Detects servers that were replaced by a newer primary. */
export class Timelines {
  private newest: Timeline | undefined;

  private readonly reported = new Set<string>();

  constructor(private readonly logger: Logger) {}

  /**
   * @param server host and port
   * @returns the number of the timeline
   * @throws Error if the server was replaced
   */
  check(timeline: Timeline, server: string): number {
    const { system, number } = timeline;
    const newest = system === this.newest?.system ? this.newest.number : 0;
    if (number < newest) {
      const reason = `the server is on timeline ${number}, but timeline ${newest} exists`;
      // Writes to this server by another way would be lost.
      if (!this.reported.has(server)) {
        this.logger.error({ server, reason }, 'a replaced primary is still running');
      }
      this.reported.add(server);
      throw new Error(reason);
    }
    this.newest = timeline;
    return number;
  }
}
