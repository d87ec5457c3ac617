import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Statement, Statements } from '../database/statements.js';
import { ServiceException } from '../errors/service.exception.js';
import { describeFailure } from '../observability/describe-failure.js';

/** Between two rounds, and between two statements of a round, in milliseconds. */
const INTERVALS = { round: 60_000, statement: 100 } as const;

/** Most rows of a statement. */
const MOST = 2_000;

export interface PruneOptions {
  readonly table: string;
  /** What its rows are, such as `changes`. */
  readonly rows: string;
  /** Removes old rows, and returns how many. Its last parameter is the most rows that it may remove. */
  readonly statement: Statement;
  readonly statements: Statements;
  readonly logger: Logger;
  readonly onPruned?: (rows: number) => void;
}

/** Removes old rows of a table, at once and then each minute, until the signal aborts. */
export async function prune(
  { table, rows, statement, statements, logger, onPruned }: PruneOptions,
  signal: AbortSignal,
): Promise<void> {
  const { text, values = [] } = statement;
  while (!signal.aborted) {
    let pruned = 0;
    try {
      const [row] = await statements.rows<[number]>({ text, values: [...values, MOST] });
      pruned = row![0];
      onPruned?.(pruned);
    } catch (error) {
      // The pool reports outages.
      if (!signal.aborted && !(error instanceof ServiceException)) {
        logger.error({ table, reason: describeFailure(error) }, `old ${rows} cannot be removed`);
      }
    }
    const pause = pruned === MOST ? INTERVALS.statement : INTERVALS.round;
    await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
  }
}
