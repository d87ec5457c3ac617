import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Statement, Statements } from './statements.js';
import { ERRORS } from '../errors/common-errors.js';
import type { ErrorKind } from '../errors/error-kind.js';
import { ServiceException } from '../errors/service.exception.js';
import { describeError } from '../observability/describe-error.js';

/** Between two rounds, and between two steps of a round, in milliseconds. */
const INTERVALS = { round: 60_000, step: 100 } as const;

const MAX_ROWS = 2_000;

const REPORTED: ReadonlySet<ErrorKind> = new Set([
  ERRORS.databaseUnavailable,
  ERRORS.poolExhausted,
]);

interface Pruned {
  readonly table: string;
  /** What its rows are, such as `changes`. */
  readonly rows: string;
  readonly logger: Logger;
}

export interface PruneOptions extends Pruned {
  /** Removes old rows, and returns how many. Its last parameter is the maximum number of rows to remove. */
  readonly statement: Statement;
  readonly statements: Statements;
  readonly onPruned?: (rows: number) => void;
}

export function prune(
  { statement: { text, values = [] }, statements, onPruned, ...pruned }: PruneOptions,
  signal: AbortSignal,
): Promise<void> {
  const step = async (): Promise<boolean> => {
    const [row] = await statements.rows<[number]>({ text, values: [...values, MAX_ROWS] });
    const [removed] = row!;
    onPruned?.(removed);
    return removed === MAX_ROWS;
  };
  return pruneInSteps({ ...pruned, step }, signal);
}

/**
 * Takes steps while there is more to do, at once and then each minute, until the signal aborts. Logs an error when it
 * begins, and not each minute that it lasts.
 *
 * @param pruned its `step` returns whether there is more to do at once
 */
export async function pruneInSteps(
  { table, rows, logger, step }: Pruned & { readonly step: () => Promise<boolean> },
  signal: AbortSignal,
  intervals: Readonly<Record<keyof typeof INTERVALS, number>> = INTERVALS,
): Promise<void> {
  let lasting: string | undefined;
  while (!signal.aborted) {
    let isMore = false;
    try {
      isMore = await step();
      lasting = undefined;
    } catch (error) {
      if (!signal.aborted && !isReported(error)) {
        const reason = describeError(error);
        if (reason !== lasting) logger.error({ table, reason }, `old ${rows} cannot be removed`);
        lasting = reason;
      }
    }
    const pause = isMore ? intervals.step : intervals.round;
    await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
  }
}

/** The pool reports outages and overload, but not statements that PostgreSQL ends, such as because of a lock. */
function isReported(error: unknown): boolean {
  return error instanceof ServiceException && REPORTED.has(error.kind);
}
