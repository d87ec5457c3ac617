import type { OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import type { Logger } from 'pino';
import { waitAtMost } from '../../bounds/waits.js';
import type { Statements } from '../../database/statements.js';
import { describeError } from '../../observability/describe-error.js';

/** In milliseconds. */
const INTERVAL = 60_000;

/** The timeout of the write at the shutdown, in milliseconds. */
const LAST_WRITE = 2_000;

/** All replicas lock the rows in one order, so that they cannot deadlock. Another replica may have written a later use. */
const WRITE = `WITH used AS (
    SELECT id, at FROM unnest($1::text[], $2::timestamptz[]) AS used (id, at)
  ), locked AS (
    SELECT id FROM access_tokens WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE
  )
  UPDATE access_tokens SET last_used_at = used.at FROM used JOIN locked USING (id)
  WHERE access_tokens.id = used.id AND (last_used_at IS NULL OR last_used_at < used.at)`;

/** The last use of each token: noted in memory, written once a minute. */
export class LastUses implements OnModuleInit, OnModuleDestroy {
  /** By id of the token: at most as many as there are tokens. */
  private readonly uses = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private isReported = false;

  constructor(
    private readonly statements: Statements,
    private readonly logger: Logger,
  ) {}

  onModuleInit(): void {
    this.timer = setInterval(() => void this.write(), INTERVAL).unref();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    await waitAtMost(LAST_WRITE, this.write());
  }

  /** @param at a time of `Date.now()` */
  note(id: string, at: number): void {
    this.uses.set(id, at);
  }

  /** Failed writes are repeated the next time. */
  private async write(): Promise<void> {
    const uses = [...this.uses];
    if (uses.length === 0) return;
    const ids = uses.map(([id]) => id);
    const times = uses.map(([, at]) => new Date(at).toISOString());
    try {
      await this.statements.run({ name: 'write-last-uses', text: WRITE, values: [ids, times] });
    } catch (error) {
      if (!this.isReported) {
        const reason = describeError(error);
        this.logger.warn({ reason }, 'the last uses of issued tokens cannot be written');
      }
      this.isReported = true;
      return;
    }
    for (const [id, at] of uses) if (this.uses.get(id) === at) this.uses.delete(id);
  }
}
