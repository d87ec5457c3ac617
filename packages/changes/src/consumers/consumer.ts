import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ERRORS, ServiceException } from '@resource-service/framework';
import type { Statements } from '@resource-service/framework';
import { describeError } from '@resource-service/framework/extension';
import type { Feed } from '../feed/feed.js';
import type { RecordedChange } from '../feed/recorded-change.js';
import { Lease, LEASE } from './lease.js';

/** In milliseconds. */
export const CONSUMER_TIMES = {
  /** Between two attempts to handle a change: at first, and at most. */
  retry: 1_000,
  maxRetry: 60_000,
  /** A shutdown waits so long for the handler. */
  shutdown: 3_000,
} as const;

/** What a consumer reads at once, and how long it waits for changes before it checks again that it misses none, in milliseconds. */
const NEXT = { limit: 100, wait: 10_000 } as const;

export interface ConsumerParts {
  /** Unique in the service: of the row with its position, and in metrics and logs. */
  readonly name: string;
  readonly holder: string;
  readonly feed: Feed;
  readonly from: 'newest' | 'oldest';
  /** Handles a change, and stores its position in the lease. */
  readonly perform: (change: RecordedChange, lease: Lease) => Promise<void>;
  readonly statements: Statements;
  readonly logger: Logger;
  readonly onError: () => void;
}

/** What keeps a consumer from going on. */
interface Obstacle {
  readonly reason: string;
  /** As of `Date.now()`. */
  readonly since: number;
  /** Whether changes can be missing, and only an operator can decide how to go on. */
  readonly isLost: boolean;
}

/** Handles the changes of a resource in their order, each at least once, in one replica at a time. */
export class Consumer {
  obstacle: Obstacle | undefined;
  private current: RecordedChange | undefined;
  private lease: Lease | undefined;
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;
  /** Resolves when it has a position, runs in another replica or cannot begin yet: a new one misses no change that follows. */
  readonly begun: Promise<void>;
  private begin = (): void => {};

  constructor(private readonly parts: ConsumerParts) {
    this.begun = new Promise((resolve) => (this.begin = resolve));
    this.running = this.run();
  }

  /** The age of the first change that is not handled, in seconds. */
  get lag(): number {
    const since = this.current?.time.getTime() ?? this.obstacle?.since;
    return since === undefined ? 0 : Math.max(0, Date.now() - since) / 1_000;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    const ended = new AbortController();
    const { signal } = ended;
    const late = sleep(CONSUMER_TIMES.shutdown, undefined, { signal, ref: false });
    await Promise.race([this.running, late.catch(() => {})]);
    ended.abort();
    this.lease?.lose();
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        this.lease = await Lease.take(this.parts.statements, [this.parts.name, this.parts.holder]);
        if (this.lease === undefined) this.obstacle = undefined;
        else await this.consume(this.lease);
      } catch (error) {
        this.note(error);
      }
      this.current = undefined;
      this.begin();
      await sleep(LEASE.renewal, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  private async consume(lease: Lease): Promise<void> {
    const { feed, from } = this.parts;
    const pause = new AbortController();
    const abort = (): void => pause.abort();
    const reasons = [this.stopping.signal, lease.signal];
    for (const reason of reasons) reason.addEventListener('abort', abort, { once: true });
    if (this.stopping.signal.aborted) abort();
    const { signal } = pause;
    try {
      if (lease.position === undefined) {
        const begin = await (from === 'newest' ? feed.latest() : feed.oldest());
        await lease.store(begin);
        lease.position = begin;
      }
      this.begin();
      // At first, only the check: nothing may come.
      for (let wait = 0; !signal.aborted; wait = NEXT.wait) {
        const changes = await feed.next(lease.position, { ...NEXT, wait, signal });
        this.obstacle = undefined;
        for (const change of changes) {
          this.current = change;
          if (signal.aborted || !(await this.handle(change, lease, signal))) return;
        }
        this.current = undefined;
      }
    } finally {
      for (const reason of reasons) reason.removeEventListener('abort', abort);
      await lease.release();
    }
  }

  /** @returns whether it was handled, before the lease was lost or the consumer was stopped */
  private async handle(
    change: RecordedChange,
    lease: Lease,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { name: consumer, perform, logger, onError } = this.parts;
    const { position } = change;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await perform(change, lease);
        lease.position = position;
        this.obstacle = undefined;
        return true;
      } catch (error) {
        if (lease.signal.aborted) return false;
        onError();
        const longest = Math.min(
          CONSUMER_TIMES.retry * 2 ** (attempt - 1),
          CONSUMER_TIMES.maxRetry,
        );
        const pause = Math.round(longest * (0.5 + Math.random() / 2));
        logger.error(
          {
            event: 'change-consumer',
            consumer,
            position: String(position),
            attempt,
            pause,
            err: error,
          },
          'a change cannot be handled: its consumer will try again',
        );
        const reason = `position ${position}: ${describeError(error)}`;
        this.obstacle = { reason, since: this.obstacle?.since ?? Date.now(), isLost: false };
        await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
      }
      if (signal.aborted || !(await lease.isUnchanged())) return false;
    }
  }

  private note(error: unknown): void {
    const { name: consumer, logger } = this.parts;
    const kind = error instanceof ServiceException ? error.kind : undefined;
    const isLost = kind === ERRORS.changesPruned || kind === ERRORS.positionUnknown;
    const reason = describeError(error);
    const isNew = reason !== this.obstacle?.reason;
    this.obstacle = { reason, since: this.obstacle?.since ?? Date.now(), isLost };
    // The pool reports outages.
    const isReported = kind !== undefined && kind !== ERRORS.noSuchPath && !isLost;
    if (!isNew || isReported) return;
    logger.error(
      { event: 'change-consumer', consumer, reason },
      isLost
        ? 'a consumer of changes may have missed some, and does not go on by itself: set its position in change_consumers'
        : 'a consumer of changes cannot go on: it will try again',
    );
  }
}
