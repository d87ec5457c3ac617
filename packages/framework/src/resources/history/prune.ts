import { setTimeout as sleep } from 'node:timers/promises';
import { escapeIdentifier } from 'pg';
import type { Logger } from 'pino';
import type { Statements } from '../../database/statements.js';
import { ServiceException } from '../../errors/service.exception.js';
import { describeFailure } from '../../observability/describe-failure.js';

/** Between two rounds, and between two statements of a round, in milliseconds. */
const INTERVALS = { round: 60_000, statement: 100 } as const;

/** Most records of a statement. */
const MOST = 2_000;

export interface PruneOptions {
  /** The table of the records. */
  readonly table: string;
  /** In milliseconds. */
  readonly retention: number;
  readonly statements: Statements;
  readonly logger: Logger;
  readonly onPruned: (records: number) => void;
}

/**
 * Removes records that are older than the retention, at once and then each minute, until the signal aborts. If another replica
 * does, this one leaves it to that.
 */
export async function prune(
  { table, retention, statements, logger, onPruned }: PruneOptions,
  signal: AbortSignal,
): Promise<void> {
  const text = `SELECT ${escapeIdentifier(`prune_${table}`)}(now() - make_interval(secs => $1), $2)`;
  while (!signal.aborted) {
    let pruned = 0;
    try {
      const values = [retention / 1_000, MOST];
      const [row] = await statements.rows<[number]>({ text, values });
      pruned = row![0];
      onPruned(pruned);
    } catch (error) {
      // The pool reports outages.
      if (!signal.aborted && !(error instanceof ServiceException)) {
        logger.error({ table, reason: describeFailure(error) }, 'old changes cannot be removed');
      }
    }
    const pause = pruned === MOST ? INTERVALS.statement : INTERVALS.round;
    await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
  }
}
