import { PLANT_STORE, Running } from './contender.js';
import type { BenchDatabase, Databases } from './databases.js';
import { plantOf } from './load.js';
import type { LoadGenerator } from './load.js';
import { familyTimeOf } from './process-table.js';

export const CONNECTIONS = 64;

/** Plants of a group: half of the callers wait while the plants of the others are stored. */
export const GROUP = CONNECTIONS / 2;

/** A load of creates. */
export interface Creates {
  readonly perSecond: number;
  readonly p99: number;
  /** Processor time of PostgreSQL for a create, in microseconds. */
  readonly database: number;
}

/** The service on a table that already has many rows. */
export class GrownTable {
  readonly afterCheckpoint: Creates[] = [];
  readonly later: Creates[] = [];
  private sent = 0;
  /** Number of the next plant of {@link explain}, beyond the numbers of the load. */
  private explained = 2_900_000;

  private constructor(
    readonly rows: number,
    private readonly databases: Databases,
    private readonly database: BenchDatabase,
    private readonly running: Running,
    private readonly generator: LoadGenerator,
  ) {}

  static async start(
    rows: number,
    databases: Databases,
    generator: LoadGenerator,
  ): Promise<GrownTable> {
    const database = await databases.create(`rows-${rows}`);
    await database.fill(rows);
    const running = await Running.start(PLANT_STORE, database.url, databases.folder);
    return new GrownTable(rows, databases, database, running, generator);
  }

  async create(seconds: number): Promise<Creates> {
    const before = await familyTimeOf(this.databases.pid);
    const { succeeded, latency, ...load } = await this.generator.run({
      url: this.running.url,
      connections: CONNECTIONS,
      seconds,
      first: this.sent,
    });
    const after = await familyTimeOf(this.databases.pid);
    // Plants whose answers did not arrive are stored as well.
    this.sent += succeeded + CONNECTIONS;
    return {
      perSecond: succeeded / load.seconds,
      p99: latency[3] ?? NaN,
      database: (after - before) / succeeded,
    };
  }

  checkpoint(): Promise<void> {
    return this.database.checkpoint();
  }

  /** Buffers and WAL of a group. */
  explain(): Promise<readonly string[]> {
    const plants = Array.from({ length: GROUP }, () => plantOf(this.explained++));
    return this.database.explainCreates(plants);
  }

  stop(): Promise<void> {
    return this.running.stop();
  }
}
