import type { Logger } from 'pino';
import { describeError } from '../../observability/describe-error.js';
import { READ_ONLY, stateOf } from '../database-error.js';

/**
 * Milliseconds without such an error until the database counts as recovered. On a full disk, some statements still
 * succeed, because their rows fit into existing pages.
 */
const RECOVERY = 5_000;

/** The operation that a read-only database rejects, whichever statement it was: a SELECT can call a function that writes. */
const WRITES = 'writes';

const WRITING = new Set(['INSERT', 'UPDATE', 'DELETE']);

/** Logs which operations the database rejects, for example because of a full disk, and when it accepts them again. */
export class RejectedOperations {
  /** By operation, such as INSERT. */
  private readonly rejected = new Map<string, { last: number; count: number }>();

  constructor(private readonly logger: Logger) {}

  get hasAny(): boolean {
    return this.rejected.size > 0;
  }

  noteError(operation: string, error: unknown): void {
    const rejected = stateOf(error) === READ_ONLY ? WRITES : operation;
    const { count } = this.rejected.get(rejected) ?? { count: 0 };
    if (count === 0) {
      this.logger.error({ reason: describeError(error) }, `the database rejects ${rejected}`);
    }
    this.rejected.set(rejected, { last: performance.now(), count: count + 1 });
  }

  noteSuccess(operation: string): void {
    this.end(operation);
    if (WRITING.has(operation)) this.end(WRITES);
  }

  private end(rejected: string): void {
    const entry = this.rejected.get(rejected);
    if (entry === undefined || performance.now() - entry.last < RECOVERY) return;
    this.rejected.delete(rejected);
    this.logger.info({ rejected: entry.count }, `the database accepts ${rejected} again`);
  }
}
