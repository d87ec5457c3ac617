import type { Span } from '@opentelemetry/api';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { QueueUse } from '../observability/metrics.js';
import type { Tracer } from '../observability/tracer.js';
import { isCausedByRow } from './database-failure.js';

/** Two, so that PostgreSQL writes one group to its disk while the next one travels. */
const MAX_UNDER_WAY = 2;

/** Of one statement. Texts count by their length, because a row can be as long as a body. */
const MAX_GROUP = { rows: 500, characters: 1_000_000 };

/** Rows of the first groups; they double as long as the database is quick. */
const FIRST_ROWS = 32;

/**
 * Milliseconds within which groups may grow, and after which they are smaller, long before their statements are
 * given up. Twice as many rows take at most twice as long, so that no group grows only to be halved again.
 */
const PACE = { quick: 1_000, slow: 2_000 };

/** Of all items that wait. */
const MAX_WAITING = { rows: 1_000, characters: 50_000_000 };

/** Milliseconds after which an item that has not left is given up: its caller should rather come back. */
const MAX_WAIT = 2_000;

export interface BatcherOptions<Item, Result> {
  /** Characters of an item. */
  readonly lengthOf: (item: Item) => number;
  /** Performs a group, with one result for each item. */
  readonly perform: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly tracer: Tracer;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly characters: number;
  readonly since: number;
  /** The request, where traces are made. */
  readonly spans: readonly Span[];
  resolve(result: Result): void;
  reject(failure: unknown): void;
}

/**
 * Performs items, those that arrive while others are under way together: they share a round trip and a commit,
 * which cost far more than a row. Nobody waits for company, a lone item leaves at once.
 */
export class Batcher<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private waitingCharacters = 0;
  private underWay = 0;
  private maxRows = FIRST_ROWS;
  private departure: NodeJS.Immediate | undefined;
  private lateness: NodeJS.Timeout | undefined;
  /** Items have waited too long, and no group has got through since. */
  private stuck = false;

  constructor(private readonly options: BatcherOptions<Item, Result>) {}

  get queue(): QueueUse {
    return {
      rows: this.waiting.length,
      maxRows: MAX_WAITING.rows,
      characters: this.waitingCharacters,
      maxCharacters: MAX_WAITING.characters,
    };
  }

  /**
   * Resolves when the transaction of the item is committed.
   *
   * @throws PlantStoreError `overloaded`; the item may be performed even so, as after any other failure
   */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const characters = this.options.lengthOf(item);
      if (!this.hasRoom(characters)) {
        reject(new PlantStoreError('overloaded'));
        return;
      }
      const spans = this.options.tracer.served();
      this.waiting.push({ item, characters, since: performance.now(), spans, resolve, reject });
      this.waitingCharacters += characters;
      // Not before all requests that have arrived are read; else the first ones would leave alone.
      this.departure ??= setImmediate(() => {
        this.departure = undefined;
        this.sendNext();
      });
    });
  }

  private hasRoom(characters: number): boolean {
    // Once a group has failed, another one finds out whether it is still so.
    if (this.stuck && this.underWay === MAX_UNDER_WAY) return false;
    return (
      this.waiting.length === 0 ||
      (this.waiting.length < MAX_WAITING.rows &&
        this.waitingCharacters + characters <= MAX_WAITING.characters)
    );
  }

  private sendNext(): void {
    while (this.waiting.length > 0) {
      if (this.underWay === MAX_UNDER_WAY) {
        this.lateness ??= setTimeout(() => this.refuseLate(), MAX_WAIT).unref();
        return;
      }
      this.underWay += 1;
      void this.send(this.nextGroup());
    }
  }

  private async send(group: readonly Waiting<Item, Result>[]): Promise<void> {
    const start = performance.now();
    const failure = await this.commit(group);
    this.underWay -= 1;
    if (failure === undefined) this.stuck = false;
    // A group without a connection has only waited behind others: that tells nothing of its rows.
    if (!(failure instanceof PlantStoreError && failure.code === 'overloaded')) {
      this.adapt(group.length, performance.now() - start, failure === undefined);
    }
    this.sendNext();
  }

  /** The bound of a statement holds for all of its rows, so they must be fewer where each takes long. */
  private adapt(rows: number, milliseconds: number, isStored: boolean): void {
    if (milliseconds > PACE.slow) {
      // A small group that took long tells little of larger ones.
      this.maxRows = Math.max(1, Math.min(this.maxRows, Math.max(rows, FIRST_ROWS)) >> 1);
    } else if (isStored && milliseconds < PACE.quick && rows >= this.maxRows) {
      this.maxRows = Math.min(MAX_GROUP.rows, rows * 2);
    }
  }

  /** Takes the items that have waited longest off the queue, as many as fit. */
  private nextGroup(): Waiting<Item, Result>[] {
    let characters = 0;
    const tooMany = this.waiting.findIndex((entry, index) => {
      characters += entry.characters;
      return index === this.maxRows || (index > 0 && characters > MAX_GROUP.characters);
    });
    return this.dequeue(tooMany === -1 ? this.waiting.length : tooMany);
  }

  private dequeue(count: number): Waiting<Item, Result>[] {
    const entries = this.waiting.splice(0, count);
    for (const { characters } of entries) this.waitingCharacters -= characters;
    return entries;
  }

  /** Turns away what has waited too long, now and as long as anything waits. */
  private refuseLate(): void {
    const latest = performance.now() - MAX_WAIT;
    const inTime = this.waiting.findIndex(({ since }) => since > latest);
    const late = this.dequeue(inTime === -1 ? this.waiting.length : inTime);
    for (const entry of late) entry.reject(new PlantStoreError('overloaded'));
    // Others would wait as long for the same answer.
    this.stuck ||= late.length > 0;
    const [oldest] = this.waiting;
    this.lateness = oldest && setTimeout(() => this.refuseLate(), oldest.since - latest).unref();
  }

  /**
   * Performs a group, and settles each of its items. A failure that one row can have caused has the group tried
   * again in halves.
   *
   * @returns why the last items were not performed, unless a row was at fault
   */
  private async commit(group: readonly Waiting<Item, Result>[]): Promise<unknown> {
    const { tracer, perform } = this.options;
    try {
      const spans = group.flatMap((entry) => entry.spans);
      const results = await tracer.serving(spans, () => perform(group.map(({ item }) => item)));
      for (const [index, entry] of group.entries()) entry.resolve(results[index]!);
      return undefined;
    } catch (failure) {
      const isOfRow = isCausedByRow(failure);
      if (!isOfRow || group.length === 1) {
        for (const entry of group) entry.reject(failure);
        return isOfRow ? undefined : failure;
      }
    }
    const middle = (group.length + 1) >> 1;
    const failure = await this.commit(group.slice(0, middle));
    if (failure === undefined) return this.commit(group.slice(middle));
    // Each further part would wait for the database as long again.
    for (const entry of group.slice(middle)) entry.reject(failure);
    return failure;
  }
}
