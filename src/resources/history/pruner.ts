import { setTimeout as sleep } from 'node:timers/promises';
import { escapeIdentifier } from 'pg';
import type { Logger } from 'pino';
import type { Statements } from '../../database/statements.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';
import { describeFailure } from '../../observability/describe-failure.js';

/** Between two rounds, and between two statements of a round, in milliseconds. */
const INTERVALS = { round: 60_000, statement: 100 } as const;

/** Most records of a statement. */
const MOST = 2_000;

export interface PrunerOptions {
  /** Of the records. */
  readonly table: string;
  /** In milliseconds. */
  readonly retention: number;
  readonly statements: Statements;
  readonly logger: Logger;
  readonly onPruned: (records: number) => void;
}

/** Removes records that are older than the retention. If another replica does, this one leaves it to that. */
export class Pruner {
  private readonly closing = new AbortController();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: PrunerOptions) {}

  /** Begins a round at once, and then one each minute. */
  start(): void {
    void this.round();
  }

  close(): void {
    this.closing.abort();
    clearTimeout(this.timer);
  }

  private async round(): Promise<void> {
    const { signal } = this.closing;
    try {
      while (!signal.aborted && (await this.prune()) === MOST) {
        await sleep(INTERVALS.statement, undefined, { signal, ref: false });
      }
    } catch (error) {
      if (!signal.aborted) this.report(error);
    }
    if (signal.aborted) return;
    this.timer = setTimeout(() => void this.round(), INTERVALS.round).unref();
  }

  private async prune(): Promise<number> {
    const { table, retention, statements, onPruned } = this.options;
    const name = escapeIdentifier(`prune_${table}`);
    const [row] = await statements.rows<[number]>({
      text: `SELECT ${name}(now() - make_interval(secs => $1), $2)`,
      values: [retention / 1_000, MOST],
    });
    const pruned = row![0];
    onPruned(pruned);
    return pruned;
  }

  /** The pool reports outages. */
  private report(error: unknown): void {
    if (error instanceof PlantStoreError) return;
    const { logger, table } = this.options;
    logger.error({ table, reason: describeFailure(error) }, 'old changes cannot be removed');
  }
}
