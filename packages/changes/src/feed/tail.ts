import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ServiceException } from '@resource-service/framework';
import { describeError } from '@resource-service/framework/extension';
import type { Key } from '@resource-service/framework/extension';
import type { ChangeReader, Start } from './change-reader.js';
import type { WrittenChange } from './change-writer.js';

/** Between two reads of new changes, and after an error, in milliseconds. */
const INTERVALS = { read: 50, retry: 1_000 } as const;

/** Limits of what is read at once, and of what is kept for followers. */
const READ = { changes: 1_000, bytes: 512 * 1024 } as const;
const KEPT = { events: 10_000, bytes: 4 * 1024 * 1024 } as const;

/** As many bytes are handed out at once, unless a single event has more: what a follower that does not read costs. */
const AT_ONCE = 16 * 1024;

/** So many seconds without progress are no pause between two reads. */
const BLOCKED = 1;

export interface ChangeEvent {
  readonly position: bigint;
  readonly id: Key;
  /** The same for all followers: a copy of a long one for each would fill the memory. */
  readonly bytes: Uint8Array;
}

export function toEvent({ position, id, json }: WrittenChange): ChangeEvent {
  return { position, id, bytes: Buffer.from(`id: ${position}\ndata: ${json}\n\n`) };
}

export interface NextEvents {
  readonly events: readonly ChangeEvent[];
  /** The position up to which these are all. */
  readonly position: bigint;
}

/**
 * The newest changes, for all followers of this replica. It asks the database as long as there are followers, and no more
 * often however many they are (docs/decisions/order-of-changes.md).
 */
export class Tail {
  private readonly events: ChangeEvent[] = [];
  private bytes = 0;
  /** The position before the first of {@link events}. */
  private begin = 0n;
  /** The position up to which all changes are known. */
  private end = 0n;
  private followers = 0;
  /** The age of the newest change when it was read, in seconds. */
  private lastLag = 0;
  /** When there was nothing to wait for, or readers could go further, as of `performance.now()`. */
  private movedAt = 0;
  private lowWatermark = 0n;
  private incarnation = 0n;
  private running: Promise<void> | undefined;
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly reader: ChangeReader,
    private readonly logger: Logger,
  ) {}

  get position(): bigint {
    return this.end;
  }

  get incarnationStart(): bigint {
    return this.incarnation;
  }

  /**
   * Keeps the tail up to date until the returned function is called.
   *
   * @param start of a follower
   */
  attend({ lowWatermark, incarnationStart }: Start): () => void {
    this.followers += 1;
    if (this.running === undefined) {
      this.incarnation = incarnationStart;
      this.startAt(lowWatermark);
      this.movedAt = performance.now();
      this.lastLag = 0;
      this.running = this.run();
    } else {
      this.forgetLost(lowWatermark, incarnationStart);
    }
    return () => {
      this.followers -= 1;
    };
  }

  /**
   * The next changes after a position: at least one if there is any, and a few more.
   *
   * @returns `undefined` if the tail does not reach back so far
   */
  after(position: bigint): NextEvents | undefined {
    if (position < this.begin) return undefined;
    // Most followers are near the end.
    let first = this.events.length;
    while (first > 0 && this.events[first - 1]!.position > position) first -= 1;
    let last = first;
    for (let bytes = 0; last < this.events.length; last += 1) {
      bytes += this.events[last]!.bytes.length;
      if (bytes > AT_ONCE && last > first) break;
    }
    const events = this.events.slice(first, last);
    const isWhole = last === this.events.length;
    if (!isWhole) return { events, position: events.at(-1)!.position };
    // A follower can have come later than the last read.
    return { events, position: this.end > position ? this.end : position };
  }

  /**
   * How long the newest change took from the begin of its transaction until it was read, or how long it has not been possible
   * to read further, in seconds: because a transaction is open, or the database fails.
   */
  get lag(): number {
    if (this.running === undefined) return 0;
    const blocked = (performance.now() - this.movedAt) / 1_000;
    return blocked > BLOCKED ? Math.max(this.lastLag, blocked) : this.lastLag;
  }

  /** Resolves when there are changes after a position, or when the signal aborts. */
  next(position: bigint, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (this.end > position || signal.aborted) {
        resolve();
        return;
      }
      const done = (): void => {
        this.waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.waiting.add(done);
      signal.addEventListener('abort', done);
    });
  }

  private async run(): Promise<void> {
    let isReported = false;
    while (this.followers > 0) {
      try {
        await this.read();
        isReported = false;
        await sleep(INTERVALS.read, undefined, { ref: false });
      } catch (error) {
        // The pool reports outages.
        if (!isReported && !(error instanceof ServiceException)) {
          this.logger.error({ reason: describeError(error) }, 'changes cannot be followed');
          isReported = true;
        }
        await sleep(INTERVALS.retry, undefined, { ref: false });
      }
    }
    this.running = undefined;
  }

  private async read(): Promise<void> {
    const { lowWatermark, prunedTo, incarnationStart, isBlocked } = await this.reader.states.read();
    if (!isBlocked || lowWatermark > this.lowWatermark) this.movedAt = performance.now();
    this.lowWatermark = lowWatermark;
    // Followers before it read what is left by themselves, or are told that something is gone.
    if (this.end < prunedTo) this.startAt(prunedTo);
    this.forgetLost(lowWatermark, incarnationStart);
    while (this.end < lowWatermark) {
      const { changes, isWhole } = await this.reader.pages.read({
        after: this.end,
        isFirst: false,
        until: lowWatermark,
        limit: READ.changes,
        maxBytes: READ.bytes,
      });
      // Meanwhile, a follower may have seen that the database is another one.
      if (this.incarnation !== incarnationStart) return;
      this.add(changes, isWhole ? lowWatermark : changes.at(-1)!.position);
    }
  }

  private add(changes: readonly WrittenChange[], end: bigint): void {
    for (const event of changes.map(toEvent)) {
      this.bytes += event.bytes.length;
      this.events.push(event);
    }
    this.end = end;
    const newest = changes.at(-1);
    if (newest !== undefined) this.lastLag = (Date.now() - newest.time) / 1_000;
    let tooMany = 0;
    while (
      this.events.length - tooMany > KEPT.events ||
      (this.bytes > KEPT.bytes && tooMany < this.events.length)
    ) {
      this.bytes -= this.events[tooMany]!.bytes.length;
      tooMany += 1;
    }
    const [last] = this.events.splice(0, tooMany).slice(-1);
    if (last !== undefined) this.begin = last.position;
    for (const done of this.waiting) done();
  }

  /**
   * Begins anew if the server is of another incarnation than before: it may lack what was read, and have other records before
   * it. Followers who are behind read by themselves, and are checked like those who come back (`ChangeReader.startOf`).
   */
  private forgetLost(lowWatermark: bigint, incarnationStart: bigint): void {
    if (incarnationStart === this.incarnation) return;
    this.incarnation = incarnationStart;
    this.startAt(lowWatermark);
  }

  private startAt(position: bigint): void {
    this.events.length = 0;
    this.bytes = 0;
    this.begin = position;
    this.end = position;
    for (const done of this.waiting) done();
  }
}
