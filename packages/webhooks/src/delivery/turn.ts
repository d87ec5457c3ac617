import { ERRORS, ServiceException } from '@resource-service/framework';
import { MissingChanges } from '@resource-service/changes';
import type { RecordedChange } from '@resource-service/changes';
import type { Outcome } from '../outgoing/outcome.js';
import type { PauseReason } from '../webhook.entity.js';
import { messageOf } from './message.js';
import type { WebhookMessage } from './message.js';
import { failingSince } from './retries.js';
import { KEPT_DELIVERIES } from './webhook-rows.js';
import type { Attempt, ClaimedWebhook, Served } from './webhook-rows.js';
import type { Positions, WebhookFeeds } from './webhook-feeds.js';

/** In milliseconds. A webhook that has sent for so long lets others go on; the slow ones have lanes of their own. */
export const TURN = { quick: 1_000, slow: 10_000 } as const;

export type Lane = keyof typeof TURN;

export interface TurnParts {
  readonly feeds: Pick<WebhookFeeds, 'next'>;
  /** Resolves when a message may be sent. */
  readonly pace: () => Promise<void>;
  /** Whether no other replica can have the lease of the webhook. */
  readonly isLeased: () => boolean;
  /** Sends a message once. */
  readonly send: (
    webhook: ClaimedWebhook,
    message: WebhookMessage,
    signal: AbortSignal,
  ) => Promise<Outcome>;
  readonly count: (outcome: Outcome['kind']) => void;
  /** As of `Date.now()`. */
  readonly now: () => number;
}

const GONE = 'The response has the status 410.';
const TOO_SLOW = 'There was no response, and too many others are slow.';

/** A webhook catches up: sends changes, one after the other, until there are no more, its time is over, or one fails. */
export class Turn {
  /** What has kept the turn from going on, and is nothing of the webhook. */
  error: unknown;
  private readonly startedAt = performance.now();
  /** When the attempt in work began. */
  private sentAt: number | undefined;
  private readonly ended = new AbortController();
  private isTooSlow = false;
  private readonly positions: Record<string, string> = {};
  private readonly attempts: Attempt[] = [];

  /** @param latest the newest positions when it was claimed */
  constructor(
    readonly webhook: ClaimedWebhook,
    private readonly latest: Positions,
    public lane: Lane,
    private readonly parts: TurnParts,
  ) {}

  /** Milliseconds that it has taken. */
  get age(): number {
    return performance.now() - this.startedAt;
  }

  /** Whether its receiver takes long to respond. */
  get isSlow(): boolean {
    return this.sentAt !== undefined && performance.now() - this.sentAt > TURN.quick;
  }

  /** Sends no more: another replica may serve the webhook, or this one shuts down. */
  stop(): void {
    this.ended.abort();
  }

  /** Counts the attempt in work as failed: it is slow, and so are too many others. */
  giveUp(): void {
    this.isTooSlow = true;
    this.ended.abort();
  }

  async run(): Promise<Served> {
    const { resources } = this.webhook;
    for (const [resource, newest] of Object.entries(this.latest)) {
      if (resources.length > 0 && !resources.includes(resource)) continue;
      const end = await this.catchUp(resource, newest);
      if (end !== undefined) return end;
    }
    return this.served({});
  }

  /** @returns the end of the turn, if it ends with this resource */
  private async catchUp(resource: string, newest: string): Promise<Served | undefined> {
    // A resource that the service has only now begins here.
    let position = BigInt(this.webhook.positions[resource] ?? newest);
    const move = (to: bigint): void => {
      position = to;
      this.positions[resource] = String(to);
    };
    move(position);
    // A position beyond the newest can be one of another server: then the read says so.
    for (let isBehind = String(position) !== newest; isBehind;) {
      if (this.isOver) return this.served({});
      const found = await this.read(resource, position);
      if (!Array.isArray(found)) return found as Served;
      const changes = found as readonly RecordedChange[];
      for (const change of changes) {
        const end = await this.pass(resource, change);
        if (end !== undefined) return end;
        move(change.position);
      }
      // A read that others have begun can be older than the newest position: then the next turn goes on.
      isBehind = changes.length > 0 && position < BigInt(newest);
    }
    return undefined;
  }

  /** @returns changes, or the end of the turn */
  private async read(
    resource: string,
    position: bigint,
  ): Promise<readonly RecordedChange[] | Served> {
    try {
      return await this.parts.feeds.next(resource, position);
    } catch (error) {
      const pausedReason = pauseReasonOf(error);
      // Others pass, such as an outage of the database.
      if (pausedReason === undefined) this.error = error;
      // What follows is for readers of the feed.
      const [lastError] = (error as Error).message.split(': copy everything');
      return this.served(pausedReason && { pausedReason, lastError });
    }
  }

  /** Sends a change if the webhook wants it. */
  private async pass(resource: string, change: RecordedChange): Promise<Served | undefined> {
    const { webhook, parts } = this;
    if (webhook.kinds.length > 0 && !webhook.kinds.includes(change.kind)) return undefined;
    const waitingSince = change.time;
    await parts.pace();
    if (this.isOver) return this.served({ waitingSince });
    const message = messageOf(resource, change);
    let outcome: Outcome;
    this.sentAt = performance.now();
    try {
      outcome = await parts.send(webhook, message, this.ended.signal);
    } catch (error) {
      if (!this.isTooSlow) {
        if (!this.ended.signal.aborted) this.error = error;
        return this.served({ waitingSince });
      }
      outcome = { kind: 'failed', reason: TOO_SLOW };
    } finally {
      this.sentAt = undefined;
    }
    const isFirst = this.attempts.length === 0;
    this.attempts.push(attemptOf(message, outcome, parts.now()));
    if (this.attempts.length > KEPT_DELIVERIES) this.attempts.shift();
    parts.count(outcome.kind);
    if (outcome.kind === 'delivered') return undefined;
    if (outcome.kind === 'gone') {
      return this.served({ pausedReason: 'gone', lastError: GONE, waitingSince });
    }
    const before = isFirst ? webhook.failing : undefined;
    const failing = failingSince(before ?? undefined, parts.now(), outcome.retryAfter);
    const pausedReason = failing.nextAttemptAt === undefined ? 'failing' : undefined;
    return this.served({ failing, pausedReason, lastError: outcome.reason, waitingSince });
  }

  /** Each turn sends one message at least, unless it is stopped. */
  private get isOver(): boolean {
    // A process that was paused goes on before its timers do.
    if (this.ended.signal.aborted || !this.parts.isLeased()) return true;
    return this.attempts.length > 0 && this.age > TURN[this.lane];
  }

  private served(end: Omit<Served, 'positions' | 'attempts'> = {}): Served {
    const { positions, attempts, webhook } = this;
    // Without an attempt, it is due at once again.
    const failing =
      attempts.length === 0 && webhook.failing !== null
        ? { ...webhook.failing, nextAttemptAt: undefined }
        : undefined;
    return { failing, ...end, positions, attempts };
  }
}

export function attemptOf({ id, type }: WebhookMessage, outcome: Outcome, now: number): Attempt {
  const { kind, response } = outcome;
  return {
    message_id: id,
    type,
    time: new Date(now),
    outcome: kind,
    status: kind === 'gone' ? 410 : outcome.status,
    reason: kind === 'failed' ? outcome.reason : undefined,
    response,
  };
}

const PAUSE_REASONS = {
  pruned: 'changes-pruned',
  unrecorded: 'changes-unrecorded',
  'other-server': 'position-unknown',
} as const satisfies Record<MissingChanges['reason'], PauseReason>;

/** Why a webhook cannot go on where it is. */
function pauseReasonOf(error: unknown): PauseReason | undefined {
  if (error instanceof MissingChanges) return PAUSE_REASONS[error.reason];
  const isUnknown = error instanceof ServiceException && error.kind === ERRORS.positionUnknown;
  return isUnknown ? 'position-unknown' : undefined;
}
