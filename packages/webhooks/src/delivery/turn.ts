import type { RecordedChange } from '@resource-service/changes';
import { MAX_INT64, parseInt64 } from '@resource-service/framework/extension';
import type { Outcome } from '../outgoing/outcome.js';
import { messageOf } from './message.js';
import type { WebhookMessage } from './message.js';
import { pauseReasonOf } from './pause-reason.js';
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
  readonly send: (
    webhook: ClaimedWebhook,
    message: WebhookMessage,
    signal: AbortSignal,
    beforeWrite: () => void,
  ) => Promise<Outcome>;
  readonly count: (outcome: Outcome['kind']) => void;
  /** As of `Date.now()`. */
  readonly now: () => number;
}

/** What a webhook has not got of a resource. */
interface Backlog {
  readonly resource: string;
  readonly newest: string;
  position: bigint;
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
  /** Whether a change was sent or passed over. */
  private hasMoved = false;
  private readonly positions: Record<string, string> = {};
  private readonly attempts: Attempt[] = [];
  /** Why it cannot go on with one of its resources. */
  private pause: Pick<Served, 'pausedReason' | 'lastError'> = {};

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

  /** Sends some changes of each resource in turn: one that always has more does not hold back the others. */
  async run(): Promise<Served> {
    const behind = await this.oldestFirst(this.backlogs());
    for (let next = behind.shift(); next !== undefined && !this.isOver; next = behind.shift()) {
      const { resource } = next;
      const newest = BigInt(next.newest);
      const read = await this.read(next);
      // Later changes are for the next turn: meanwhile, the webhook may have got other kinds.
      const changes = read.filter(({ position }) => position <= newest);
      for (const change of changes) {
        const end = await this.pass(resource, change);
        if (end !== undefined) return end;
        next.position = change.position;
        this.positions[resource] = String(change.position);
        this.hasMoved = true;
      }
      // A read that others have begun can be older than the newest position: then the next turn goes on.
      if (changes.length > 0 && next.position < newest) behind.push(next);
    }
    return this.served({});
  }

  /** @returns nothing after an error: the other resources go on */
  private async read({ resource, position }: Backlog): Promise<readonly RecordedChange[]> {
    try {
      return await this.parts.feeds.next(resource, position);
    } catch (error) {
      const pausedReason = pauseReasonOf(error);
      // What follows is for readers of the feed.
      const [lastError] = (error as Error).message.split(': copy everything');
      if (pausedReason !== undefined) this.pause = { pausedReason, lastError };
      // Others pass, such as an outage of the database.
      else this.error = error;
      return [];
    }
  }

  private backlogs(): Backlog[] {
    const { resources, positions } = this.webhook;
    const backlogs: Backlog[] = [];
    for (const [resource, newest] of Object.entries(this.latest)) {
      if (resources.length > 0 && !resources.includes(resource)) continue;
      const position = positions[resource];
      // A resource that the service has only now begins here.
      if (position === undefined) this.positions[resource] = newest;
      // A position beyond the newest can be one of another server: then the read says so. What is no number is beyond, too.
      else if (position !== newest) {
        backlogs.push({ resource, newest, position: parseInt64(position) ?? MAX_INT64 });
      }
    }
    return backlogs;
  }

  /** The resource whose next change is the oldest comes first, because a turn can have time for one resource only. */
  private async oldestFirst(backlogs: Backlog[]): Promise<Backlog[]> {
    if (backlogs.length < 2) return backlogs;
    const times = new Map<Backlog, number>();
    for (const backlog of backlogs) {
      const [first] = await this.read(backlog);
      times.set(backlog, first?.time.getTime() ?? this.parts.now());
    }
    return backlogs.toSorted((one, other) => times.get(one)! - times.get(other)!);
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
      outcome = await parts.send(webhook, message, this.ended.signal, () => {
        if (!parts.isLeased()) this.stop();
      });
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

  /** Each turn goes on by one change at least, unless it is stopped. */
  private get isOver(): boolean {
    // A process that was paused goes on before its timers do.
    if (this.ended.signal.aborted || !this.parts.isLeased()) return true;
    return this.hasMoved && this.age > TURN[this.lane];
  }

  private served(end: Omit<Served, 'positions' | 'attempts'> = {}): Served {
    const { positions, attempts, webhook } = this;
    // Without an attempt, it is due at once again.
    const failing =
      attempts.length === 0 && webhook.failing !== null
        ? { ...webhook.failing, nextAttemptAt: undefined }
        : undefined;
    return { failing, ...this.pause, ...end, positions, attempts };
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
