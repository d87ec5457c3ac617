import type { Logger } from 'pino';
import { describeFailure } from '../../observability/describe-failure.js';
import { READ_ONLY, stateOf } from '../database-failure.js';

/**
 * Milliseconds without such an error until the database counts as recovered. On a full disk, some statements still
 * succeed, because their rows fit into existing pages.
 */
const RECOVERY = 5_000;

/** The operation that a read-only database rejects, whichever statement it was: a SELECT can call a function that writes. */
const WRITES = 'writes';

const WRITING = new Set(['INSERT', 'UPDATE', 'DELETE']);

/** Logs which operations the database rejects, for example because of a full disk, and when it accepts them again. */
export class RefusedOperations {
  /** By operation, such as INSERT. */
  private readonly refused = new Map<string, { last: number; count: number }>();

  constructor(private readonly logger: Logger) {}

  noteFailure(operation: string, error: unknown): void {
    const refused = stateOf(error) === READ_ONLY ? WRITES : operation;
    const { count } = this.refused.get(refused) ?? { count: 0 };
    if (count === 0) {
      this.logger.error({ reason: describeFailure(error) }, `the database refuses ${refused}`);
    }
    this.refused.set(refused, { last: performance.now(), count: count + 1 });
  }

  noteSuccess(operation: string): void {
    this.end(operation);
    if (WRITING.has(operation)) this.end(WRITES);
  }

  private end(refused: string): void {
    const entry = this.refused.get(refused);
    if (entry === undefined || performance.now() - entry.last < RECOVERY) return;
    this.refused.delete(refused);
    this.logger.info({ refused: entry.count }, `the database accepts ${refused} again`);
  }
}
