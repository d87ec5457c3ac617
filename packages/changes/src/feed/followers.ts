import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ERRORS, ServiceException } from '@resource-service/framework';
import type { Principal } from '@resource-service/framework';
import type { Key, Semaphore } from '@resource-service/framework/extension';
import type { ChangeQuery } from './change-pages.js';
import type { ChangeReader, Start } from './change-reader.js';
import { Tail, toEvent } from './tail.js';
import type { NextEvents } from './tail.js';

/** Between two signs of life to a follower, in milliseconds. Proxies close connections after 60 s without traffic. */
const HEARTBEAT = 15_000;

/** After a read for which there was no place, in milliseconds. */
const RETRY = 500;

/** What a follower that is behind the tail reads at once. */
const CATCH_UP = { limit: 64, maxBytes: 16 * 1024 } as const;

/** A follower that misses more positions is far behind. */
const FAR = 1_000n;

/** What is not sent. */
const BEGUN = '';

export interface FollowersOptions {
  readonly reader: ChangeReader;
  readonly slots: Semaphore;
  /** How many of those that are behind read at once. Those that miss little do not wait for those that are far behind. */
  readonly reads: Readonly<Record<'far' | 'near', Semaphore>>;
  readonly shutdown: AbortSignal;
  readonly logger: Logger;
}

export interface Following {
  /** Has only a share of the places, so that others find one. */
  readonly principal: Principal;
  /** The last position that the client knows; `undefined`: it begins with the oldest record. */
  readonly after: bigint | undefined;
  /** Changes without a record up to this position may be missing. */
  readonly acceptGap?: bigint | undefined;
  readonly id?: Key | undefined;
  /** Aborts when nobody needs more, or may read more. */
  readonly signal: AbortSignal;
}

export class Followers {
  private readonly tail: Tail;
  private count = 0;

  constructor(private readonly options: FollowersOptions) {
    this.tail = new Tail(options.reader, options.logger);
  }

  /** The clients, and the lag of the newest change until it was read, in seconds. */
  get use() {
    return { count: this.count, lag: this.tail.lag };
  }

  /** Resolves when there can be changes after the start of a reader in this process, or when the signal aborts. */
  async changed(start: Start, signal: AbortSignal): Promise<void> {
    const leave = this.tail.attend(start);
    await this.tail.next(start.after, signal);
    leave();
  }

  /**
   * Returns changes as server-sent events, with their positions as ids, until the signal aborts.
   *
   * @throws ServiceException like `ChangeReader.startOf`, and `too-many-followers`
   */
  async follow(following: Following): Promise<AsyncGenerator<string | Uint8Array>> {
    const { reader, slots } = this.options;
    const { kind, id } = following.principal;
    const giveBack = slots.take(`${kind}:${id}`);
    try {
      const start = await reader.startOf(following.after, following.acceptGap);
      const events = this.events(start, following, giveBack);
      // Only a generator that has begun gives back what it holds when it ends.
      await events.next();
      return events;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  private async *events(
    start: Start,
    { id, signal: requestSignal }: Following,
    giveBack: () => void,
  ): AsyncGenerator<string | Uint8Array> {
    const end = new AbortController();
    const { signal } = end;
    const abort = (): void => end.abort();
    const reasons = [requestSignal, this.options.shutdown];
    for (const reason of reasons) {
      if (reason.aborted) abort();
      reason.addEventListener('abort', abort);
    }
    const leave = this.tail.attend(start);
    this.count += 1;
    const { acceptGap } = start;
    let { after: position, isFirst } = start;
    // The incarnation when the position was checked.
    let verified = start.incarnationStart;
    let told = position;
    let toldAt = performance.now();
    try {
      yield BEGUN;
      while (!signal.aborted) {
        const { incarnationStart } = this.tail;
        const isOtherServer = incarnationStart !== verified;
        const query = { after: position, isFirst, acceptGap, id };
        const found = await this.eventsAfter(query, isOtherServer);
        if (found !== undefined) verified = incarnationStart;
        const { events, position: next } = found ?? { events: [], position };
        const wanted = id === undefined ? events : events.filter((event) => event.id === id);
        if (wanted.length > 0) {
          yield wanted.length === 1
            ? wanted[0]!.bytes
            : Buffer.concat(wanted.map(({ bytes }) => bytes));
          told = next;
          toldAt = performance.now();
        }
        position = next;
        isFirst &&= found === undefined;
        if (performance.now() - toldAt >= HEARTBEAT) {
          // With an id, a client whose filter selects little comes back where it is.
          yield position > told ? `id: ${position}\n\n` : ':\n\n';
          told = position;
          toldAt = performance.now();
        }
        if (found === undefined) {
          await sleep(RETRY, undefined, { signal, ref: false }).catch(() => {});
        } else if (this.tail.position <= position) {
          await this.pause(position, toldAt + HEARTBEAT, signal);
        }
      }
    } finally {
      for (const reason of reasons) reason.removeEventListener('abort', abort);
      this.count -= 1;
      leave();
      giveBack();
    }
  }

  /** @returns `undefined` if too many read */
  private async eventsAfter(
    query: Omit<ChangeQuery, 'until' | 'limit' | 'maxBytes'>,
    isOtherServer: boolean,
  ): Promise<NextEvents | undefined> {
    const { reader, reads } = this.options;
    try {
      if (isOtherServer && !query.isFirst) await reader.startOf(query.after, query.acceptGap);
      const recent = this.tail.after(query.after);
      if (recent !== undefined) return recent;
      const until = this.tail.position;
      const { incarnationStart } = this.tail;
      const distance = await reader.distance(query.after, until, incarnationStart);
      const slots = distance > FAR ? reads.far : reads.near;
      const { changes, isWhole } = await slots.run(() =>
        reader.pages.read({ ...query, until, ...CATCH_UP }),
      );
      return { events: changes.map(toEvent), position: isWhole ? until : changes.at(-1)!.position };
    } catch (error) {
      if (isOverload(error)) return undefined;
      throw error;
    }
  }

  /** Waits for changes, but not beyond a time of `performance.now()`. */
  private async pause(position: bigint, due: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const end = new AbortController();
    const abort = (): void => end.abort();
    // A timer can fire a millisecond early.
    const timer = setTimeout(abort, due - performance.now() + 1);
    signal.addEventListener('abort', abort);
    await this.tail.next(position, end.signal);
    signal.removeEventListener('abort', abort);
    clearTimeout(timer);
  }
}

function isOverload(error: unknown): boolean {
  if (!(error instanceof ServiceException)) return false;
  return error.kind === ERRORS.poolExhausted || error.kind === ERRORS.tooManyLists;
}
