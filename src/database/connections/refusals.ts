import type { Logger } from 'pino';
import { describeFailure } from '../../observability/describe-failure.js';

/**
 * Milliseconds without a refusal until the database counts as recovered. On a full disk, some statements still succeed,
 * because their rows fit into existing pages.
 */
const RECOVERY = 5_000;

/** Logs which operations the database refuses, for example because of a full disk, and when it accepts them again. */
export class Refusals {
  /** By operation, such as INSERT. */
  private readonly refused = new Map<string, { last: number; count: number }>();

  constructor(private readonly logger: Logger) {}

  noteRefusal(operation: string, error: unknown): void {
    const { count } = this.refused.get(operation) ?? { count: 0 };
    if (count === 0) {
      this.logger.error({ reason: describeFailure(error) }, `the database refuses ${operation}`);
    }
    this.refused.set(operation, { last: performance.now(), count: count + 1 });
  }

  noteSuccess(operation: string): void {
    const refusal = this.refused.get(operation);
    if (refusal === undefined || performance.now() - refusal.last < RECOVERY) return;
    this.refused.delete(operation);
    this.logger.info({ refused: refusal.count }, `the database accepts ${operation} again`);
  }
}
