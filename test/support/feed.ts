import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'lossless-json';
import { expect } from 'vitest';
import { TOKEN } from './crowd.js';
import { followEvents } from '../../packages/framework/test/support/event-source.js';
import { plantsIn, query } from './own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { until } from './process.js';

/** Milliseconds before a reader asks again: after a failure, and at the end of the feed. */
const PAUSE = 20;

/** A record as a reader saw it, or as it is stored, in one line. */
interface SeenChange {
  readonly position: bigint;
  readonly line: string;
}

interface FeedChange {
  readonly position: bigint;
  readonly kind: string;
  readonly id: bigint;
  readonly plant?: { readonly id: bigint; readonly name: string; readonly tag?: string };
  readonly principal: { readonly kind: string; readonly id: string };
  readonly requestId: string;
  readonly time: string;
}

interface FeedReaderOptions {
  /** Addresses of `/plants` of replicas, which the reader takes in turn after each failure. */
  readonly urls: readonly string[];
  /** The last position that it knows; by default it begins with the oldest record. */
  readonly after?: bigint | undefined;
  /** How many records a reader of pages asks for. */
  readonly limit?: number;
  /** Milliseconds between two records of a follower, or two pages. */
  readonly pause?: number;
}

/** Somebody who reads the feed and continues elsewhere where it was, whatever happens. */
export abstract class FeedReader {
  /** In the order in which they were received. */
  readonly seen: SeenChange[] = [];
  /** When each of {@link seen} was received, as of `Date.now()`. */
  readonly times: number[] = [];
  /** Answers that were neither the feed nor 503. A reader that is told that records are gone goes no further. */
  readonly refusals: string[] = [];
  /** Streams or answers that ended early. */
  breaks = 0;
  private readonly running: Promise<void>;
  private readonly end = new AbortController();
  private next = 0;
  protected after: string | undefined;

  constructor(readonly options: FeedReaderOptions) {
    this.after = options.after?.toString();
    this.running = this.run();
  }

  get position(): bigint {
    return BigInt(this.after ?? -1);
  }

  /** Whether it was told that records after its position are gone. */
  get isGone(): boolean {
    return this.refusals.some((refusal) => refusal.startsWith('410'));
  }

  async stop(): Promise<void> {
    this.end.abort();
    await this.running;
  }

  protected get signal(): AbortSignal {
    return this.end.signal;
  }

  /** Reads from a replica until an answer or a stream ends. */
  protected abstract read(base: string): Promise<void>;

  protected receive(text: string): void {
    const change = parse(text, undefined, (digits) => BigInt(digits)) as FeedChange;
    this.seen.push({ position: change.position, line: lineOf(change) });
    this.times.push(Date.now());
  }

  protected refused(status: number, text: string): void {
    if (status !== 503) this.refusals.push(`${status} after ${this.after}: ${text}`);
  }

  private async run(): Promise<void> {
    const { urls } = this.options;
    while (!this.signal.aborted && this.refusals.length === 0) {
      const base = urls[this.next % urls.length]!.replace(/\/plants$/, '');
      try {
        await this.read(base);
      } catch (error) {
        if (this.signal.aborted) return;
        // Those of `fetch` have a cause. Any other error is one of the test itself.
        if (!(error instanceof TypeError) || error.cause === undefined) throw error;
        this.breaks += 1;
      }
      this.next += 1;
      await sleep(PAUSE);
    }
  }
}

/** Follows server-sent events. */
export class Follower extends FeedReader {
  /** Streams that the service has ended in good order. */
  ends = 0;
  /** Streams that have ended in another way. */
  cuts = 0;

  protected async read(base: string): Promise<void> {
    const { pause = 0 } = this.options;
    const stream = await followEvents(`${base}/changes`, {
      Authorization: `Bearer ${TOKEN}`,
      ...(this.after !== undefined && { 'Last-Event-ID': this.after }),
    });
    const close = (): void => stream.close();
    this.signal.addEventListener('abort', close);
    if (this.signal.aborted) close();
    try {
      const { response } = stream;
      if (response.status !== 200) {
        this.refused(response.status, await response.text());
        return;
      }
      for (;;) {
        const event = await stream.next().catch((error: unknown) => {
          if (!this.signal.aborted) this.cuts += 1;
          throw error;
        });
        if (event === undefined) break;
        this.receive(event.text);
        this.after = event.id;
        if (pause > 0) await sleep(pause);
      }
      this.ends += 1;
    } finally {
      // A client that comes back sends what it has received last, also without data.
      this.after = stream.lastEventId ?? this.after;
      this.signal.removeEventListener('abort', close);
      close();
    }
  }
}

/** Reads page after page. */
export class Pager extends FeedReader {
  protected async read(base: string): Promise<void> {
    const { limit = 50, pause = PAUSE } = this.options;
    while (!this.signal.aborted) {
      const after = this.after === undefined ? '' : `&after=${this.after}`;
      const response = await fetch(`${base}/changes?limit=${limit}${after}`, {
        headers: { Authorization: `Bearer ${TOKEN}` },
        signal: this.signal,
      });
      const text = await response.text();
      if (response.status !== 200) {
        this.refused(response.status, text);
        return;
      }
      const changes = text === '[]' ? [] : text.slice(1, -1).split(/,(?=\{"position":)/);
      for (const change of changes) this.receive(change);
      this.after = this.seen.at(-1)?.position.toString() ?? this.after;
      if (!response.headers.has('Link')) await sleep(pause);
    }
  }
}

/** Waits until all readers are at a position, or were told that records are gone, or until none goes on. */
export async function untilRead(readers: readonly FeedReader[], newest: bigint): Promise<void> {
  const haveRead = () => readers.every(({ position, isGone }) => isGone || position >= newest);
  const places = () => readers.map(({ position }) => position).join();
  for (let before = ''; !haveRead() && before !== places();) {
    before = places();
    await until(haveRead, PATIENCE);
  }
}

/** Waits until all readers have the newest record, stops them, and compares what they saw with the tables. */
export async function expectFeedReckoning(
  databaseUrl: string,
  readers: readonly FeedReader[],
): Promise<void> {
  const stored = await recordsIn(databaseUrl);
  const newest = stored.at(-1)?.position ?? 0n;
  await untilRead(readers, newest);
  await Promise.all(readers.map((reader) => reader.stop()));
  expect(readers.flatMap(({ refusals }) => refusals)).toEqual([]);
  for (const { seen, options } of readers) {
    const { after = -1n } = options;
    const expected = stored.filter(({ position }) => position > after);
    expect(differences(seen, expected)).toEqual([]);
  }
  expect(await misreplayed(databaseUrl)).toEqual([]);
}

/** A sentence for the first record that a reader did not see as it is stored, or in another order. */
export function differences(
  seen: readonly SeenChange[],
  stored: readonly SeenChange[],
): readonly string[] {
  const length = Math.max(seen.length, stored.length);
  for (let at = 0; at < length; at += 1) {
    if (seen[at]?.line !== stored[at]?.line) {
      const counts = `record ${at} of ${stored.length}, ${seen.length} seen`;
      return [`${counts}: saw ${seen[at]?.line}, stored is ${stored[at]?.line}`];
    }
  }
  return [];
}

/** All records of a table, in the order of their positions. */
export async function recordsIn(
  databaseUrl: string,
  table = 'plant_changes',
): Promise<readonly SeenChange[]> {
  const rows = (await query(
    databaseUrl,
    `SELECT position, time, kind, id, name, tag, principal, request_id FROM ${table} ORDER BY position`,
  )) as (Record<string, string | null> & { time: Date })[];
  return rows.map(({ position, time, kind, id, name, tag, principal, request_id }) => ({
    position: BigInt(position!),
    line: [position, time.toISOString(), kind, id, name, tag, principal, request_id].join(' '),
  }));
}

/** A sentence for each record that does not follow from those before, and for each plant that is not what the records from the beginning make of it. */
export async function misreplayed(databaseUrl: string): Promise<readonly string[]> {
  const plants = new Map<string, string>();
  const faults: string[] = [];
  const rows = (await query(
    databaseUrl,
    'SELECT kind, id, name, tag FROM plant_changes ORDER BY position',
  )) as Record<'kind' | 'id' | 'name' | 'tag', string>[];
  for (const { kind, id, name, tag } of rows) {
    const content = JSON.stringify([name, tag]);
    // Each record follows from the one before.
    if (plants.has(id) === (kind === 'created')) faults.push(`${id} was ${kind} twice, or never`);
    if (kind === 'replaced' && plants.get(id) === content) faults.push(`${id} has not changed`);
    if (kind === 'removed') plants.delete(id);
    else plants.set(id, content);
  }
  const stored = await plantsIn(databaseUrl);
  for (const { id, name, tag } of stored) {
    const [wanted, found] = [plants.get(String(id)), JSON.stringify([name, tag])];
    if (wanted !== found) faults.push(`${id} is ${found}, but the records say ${wanted}`);
    plants.delete(String(id));
  }
  return [...faults, ...[...plants.keys()].map((id) => `${id} is missing`)];
}

function lineOf({ position, time, kind, id, plant, principal, requestId }: FeedChange): string {
  if (plant !== undefined && plant.id !== id) return `${position} has two ids`;
  return [
    position,
    time,
    kind,
    id,
    plant?.name ?? null,
    plant?.tag ?? null,
    `${principal.kind}:${principal.id}`,
    requestId,
  ].join(' ');
}
