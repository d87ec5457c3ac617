import { Inject, Injectable } from '@nestjs/common';
import type { Span } from '@opentelemetry/api';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { Metrics } from '../observability/metrics.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import type { Plant } from './plant.entity.js';
import { PlantsRepository } from './plants.repository.js';

/**
 * What became of a plant that was to be created: stored now, stored before with the same content, or
 * kept out by a plant with other content.
 */
export type Creation = 'created' | 'unchanged' | 'taken';

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

/** Of all plants that wait. */
const MAX_WAITING = { rows: 1_000, characters: 50_000_000 };

/** Milliseconds after which a plant that has not left is given up: its caller should rather come back. */
const MAX_WAIT = 2_000;

/** How often a plant that others remove all the time is created anew. */
const MAX_ATTEMPTS = 5;

interface Waiting {
  readonly plant: Plant;
  readonly since: number;
  readonly attempt: number;
  /** The request, where traces are made. */
  readonly spans: readonly Span[];
  answered: boolean;
  resolve(creation: Creation): void;
  reject(error: unknown): void;
}

/**
 * Creates plants, those that arrive while others are under way together: they share a round trip and
 * a commit, which cost far more than a row. Nobody waits for company, a lone plant leaves at once.
 */
@Injectable()
export class GroupCommit {
  private waiting: Waiting[] = [];
  private waitingCharacters = 0;
  private underWay = 0;
  private maxRows = FIRST_ROWS;
  private departure: NodeJS.Immediate | undefined;
  private lateness: NodeJS.Timeout | undefined;
  /** Plants have waited too long, and no group has got through since. */
  private stuck = false;

  constructor(
    private readonly plants: PlantsRepository,
    private readonly metrics: Metrics,
    @Inject(TRACER) private readonly tracer: Tracer,
  ) {
    metrics.observeCreationQueue(() => ({
      rows: this.waiting.length,
      maxRows: MAX_WAITING.rows,
      characters: this.waitingCharacters,
      maxCharacters: MAX_WAITING.characters,
    }));
  }

  /**
   * Resolves when the plant is committed, or kept out by a committed one.
   *
   * @throws PlantStoreError `overloaded`, `database-unavailable`; the plant may be stored even so
   */
  create(plant: Plant): Promise<Creation> {
    return new Promise((resolve, reject) => {
      this.enqueue({
        plant,
        since: performance.now(),
        attempt: 1,
        spans: this.tracer.served(),
        answered: false,
        resolve,
        reject,
      });
    });
  }

  private enqueue(entry: Waiting): void {
    const characters = lengthOf(entry);
    if (
      // Once a group has failed, another one finds out whether it is still so.
      (this.stuck && this.underWay === MAX_UNDER_WAY) ||
      this.waiting.length >= MAX_WAITING.rows ||
      (this.waiting.length > 0 && this.waitingCharacters + characters > MAX_WAITING.characters)
    ) {
      entry.reject(new PlantStoreError('overloaded'));
      return;
    }
    this.waiting.push(entry);
    this.waitingCharacters += characters;
    // Not before all requests that have arrived are read; else the first ones would leave alone.
    this.departure ??= setImmediate(() => {
      this.departure = undefined;
      this.sendNext();
    });
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

  private async send(group: readonly Waiting[]): Promise<void> {
    this.metrics.recordGroup(group.length);
    const start = performance.now();
    const outage = await this.commit(group);
    this.underWay -= 1;
    if (outage === undefined) this.stuck = false;
    // Who got no connection has only waited behind others: that tells nothing of the rows.
    if (outage?.code !== 'overloaded') {
      this.adapt(group.length, performance.now() - start, outage === undefined);
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

  /** Takes those who have waited longest off the queue, as many as fit. */
  private nextGroup(): Waiting[] {
    let characters = 0;
    const tooMany = this.waiting.findIndex((entry, index) => {
      characters += lengthOf(entry);
      return index === this.maxRows || (index > 0 && characters > MAX_GROUP.characters);
    });
    return this.dequeue(tooMany === -1 ? this.waiting.length : tooMany);
  }

  private dequeue(count: number): Waiting[] {
    const entries = this.waiting.splice(0, count);
    for (const entry of entries) this.waitingCharacters -= lengthOf(entry);
    return entries;
  }

  /** Turns away who has waited too long, now and as long as anybody waits. */
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
   * Creates the plants of a group, and tells each caller the outcome. Never rejects.
   *
   * @returns why the database took none of the last ones, if it did not
   */
  private async commit(group: readonly Waiting[]): Promise<PlantStoreError | undefined> {
    if (group.length === 0) return undefined;
    try {
      await this.tracer.serving(spansOf(group), () => this.store(group));
      return undefined;
    } catch (error) {
      if (error instanceof PlantStoreError || group.length === 1) {
        for (const entry of group) entry.reject(error);
        return error instanceof PlantStoreError ? error : undefined;
      }
    }
    // One row fails all of them. Those that are answered must not be sent again: they may be gone by now.
    const left = group.filter(({ answered }) => !answered);
    const middle = (left.length + 1) >> 1;
    const outage = await this.commit(left.slice(0, middle));
    if (outage === undefined) return this.commit(left.slice(middle));
    // Each further part would wait for the database as long again.
    for (const entry of left.slice(middle)) entry.reject(outage);
    return outage;
  }

  private async store(group: readonly Waiting[]): Promise<void> {
    // Of equal ids in the group the first one is sent.
    const sent = new Map<bigint, Plant>();
    for (const { plant } of group) if (!sent.has(plant.id)) sent.set(plant.id, plant);
    const created = await this.plants.insertAbsent([...sent.values()]);
    const others: Waiting[] = [];
    for (const entry of group) {
      const { plant } = entry;
      const first = sent.get(plant.id);
      if (first === undefined || !created.has(plant.id)) others.push(entry);
      else if (plant === first) answer(entry, 'created');
      else answer(entry, isSame(plant, first) ? 'unchanged' : 'taken');
    }
    if (others.length === 0) return;
    // In a statement of its own: the first one does not see what others committed since it began.
    const comparison = await this.plants.compareWithStored(others.map(({ plant }) => plant));
    for (const [i, entry] of others.entries()) {
      const same = comparison[i];
      if (same === undefined) this.tryAgain(entry);
      else answer(entry, same ? 'unchanged' : 'taken');
    }
  }

  /** Somebody removed the plant between the two statements: its id is free again. */
  private tryAgain(entry: Waiting): void {
    if (entry.attempt < MAX_ATTEMPTS) {
      this.enqueue({ ...entry, attempt: entry.attempt + 1 });
      return;
    }
    const { id } = entry.plant;
    entry.reject(
      new PlantStoreError('overloaded', `id ${id} is created and removed by others all the time`),
    );
  }
}

function answer(entry: Waiting, creation: Creation): void {
  entry.answered = true;
  entry.resolve(creation);
}

function spansOf(group: readonly Waiting[]): readonly Span[] {
  return group.flatMap(({ spans }) => spans);
}

function lengthOf({ plant: { name, tag } }: Waiting): number {
  return name.length + (tag?.length ?? 0);
}

function isSame(one: Plant, other: Plant): boolean {
  return one.name === other.name && one.tag === other.tag;
}
