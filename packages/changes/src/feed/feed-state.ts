import { escapeIdentifier } from 'pg';
import { prepared } from '@resource-service/framework/extension';
import type { Statements } from '@resource-service/framework';
import type { EntityColumns, Semaphore } from '@resource-service/framework/extension';
import { pruned, unrecorded } from './position.js';

/** Where a reader can be. */
export interface FeedState {
  /** No record with this position or a lower one will come. */
  readonly lowWatermark: bigint;
  /** The newest position that was given to a record, which may not be committed yet. */
  readonly newest: bigint;
  /** Records up to this position were removed because of their age, or a change up to it has none. */
  readonly prunedTo: bigint;
  /** Where the incarnation of the server begins: a server that may lack records that were read before has another one. */
  readonly incarnationStart: bigint;
  /** Whether an open transaction keeps readers from reading further. */
  readonly isBlocked: boolean;
}

export interface FeedStatesOptions {
  /** The table of the records. Known when the database is connected. */
  readonly records: () => EntityColumns;
  readonly statements: Statements;
  readonly slots: Semaphore;
  /** Called when a change up to this position is noticed to have no record, and at the start if records from before are left. */
  readonly onUnrecorded: (position: bigint, isNew: boolean) => void;
}

export class FeedStates {
  readonly readShared = shared(() => this.options.slots.run(() => this.read()));
  /** The last `prunedTo` that was reported if it had to be. */
  private reported: bigint | undefined;
  /** Thousands of followers can be rejected at once, for one reason. */
  private cause: { readonly prunedTo: bigint; readonly isUnrecorded: Promise<boolean> } | undefined;
  private wanted = new Set<bigint>();
  private readonly nearest = shared(() => {
    const positions = [...this.wanted];
    this.wanted.clear();
    return this.options.slots.run(() => this.readNearest(positions));
  });

  constructor(private readonly options: FeedStatesOptions) {}

  /** @throws ServiceException as after any error of the database */
  async read(): Promise<FeedState> {
    const { statements, records } = this.options;
    const name = escapeIdentifier(`${records().tableName}_horizon`);
    const [row] = await statements.rows<[string, string, string, string, boolean]>({
      ...prepared(`SELECT horizon, newest, pruned_to, jumped_to, is_held FROM ${name}()`),
      values: [],
    });
    const [lowWatermark, newest, prunedTo, incarnationStart, isBlocked] = row!;
    void this.report(BigInt(prunedTo));
    return {
      lowWatermark: BigInt(lowWatermark),
      newest: BigInt(newest),
      prunedTo: BigInt(prunedTo),
      incarnationStart: BigInt(incarnationStart),
      isBlocked,
    };
  }

  /** @throws ServiceException `changes-pruned` if a reader would miss records, or a change without one that it does not accept */
  async requireKept(
    { after, acceptGap = 0n }: { readonly after: bigint; readonly acceptGap?: bigint | undefined },
    prunedTo: bigint,
  ): Promise<void> {
    if (after >= prunedTo) return;
    const isAccepted = acceptGap >= prunedTo;
    // Pruning begins with the oldest record.
    if (isAccepted && (await this.hasRecordUpTo(after))) return;
    throw !isAccepted && (await this.isUnrecorded(prunedTo))
      ? unrecorded(prunedTo)
      : pruned(prunedTo);
  }

  /** @throws ServiceException `database-unavailable` if the server is another one, and could not note it yet */
  async requireKnownServer(): Promise<void> {
    const { statements, records } = this.options;
    const begin = escapeIdentifier(`begin_${records().tableName}`);
    await statements.rows({ text: `SELECT ${begin}()`, values: [] });
  }

  /** The greatest position of a record at or below this one, or of those that were pruned; 0: there is none. */
  async nearestTo(position: bigint): Promise<bigint> {
    this.wanted.add(position);
    return (await this.nearest()).get(position)!;
  }

  private async report(prunedTo: bigint): Promise<void> {
    const { reported } = this;
    if (reported !== undefined && prunedTo <= reported) return;
    this.reported = prunedTo;
    try {
      if (await this.isUnrecorded(prunedTo)) {
        this.options.onUnrecorded(prunedTo, reported !== undefined);
      }
    } catch {
      // The pool reports outages. The next read tries again.
      this.reported = reported;
    }
  }

  /** Whether a change without a record is why readers begin after this position: it leaves the records before it. */
  private isUnrecorded(prunedTo: bigint): Promise<boolean> {
    if (this.cause?.prunedTo !== prunedTo) {
      const cause = { prunedTo, isUnrecorded: this.hasRecordUpTo(prunedTo) };
      this.cause = cause;
      cause.isUnrecorded.catch(() => {
        if (this.cause === cause) this.cause = undefined;
      });
    }
    return this.cause.isUnrecorded;
  }

  private async hasRecordUpTo(position: bigint): Promise<boolean> {
    const { statements, records } = this.options;
    const { table, key } = records();
    const [row] = await statements.rows<[boolean]>({
      text: `SELECT EXISTS (SELECT FROM ${table} WHERE ${key.name} <= $1)`,
      values: [String(position)],
    });
    return row![0];
  }

  private async readNearest(positions: readonly bigint[]): Promise<ReadonlyMap<bigint, bigint>> {
    const { statements, records } = this.options;
    const { table, tableName, key } = records();
    const rows = await statements.rows<[string | null]>({
      text: `SELECT greatest(
          (SELECT max(${key.name}) FROM ${table} WHERE ${key.name} <= wanted.position),
          CASE WHEN pruned.until <= wanted.position THEN pruned.until END
        ) FROM ${escapeIdentifier(`${tableName}_pruned_to`)}() AS pruned (until),
          unnest($1::bigint[]) WITH ORDINALITY AS wanted (position, number)
        ORDER BY number`,
      values: [positions.map(String)],
    });
    return new Map(positions.map((position, at) => [position, BigInt(rows[at]?.[0] ?? 0)]));
  }
}

/**
 * All callers share a read that begins after their calls: after a start of the server, thousands of followers can come at
 * once.
 */
function shared<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<Result> | undefined;
  return () =>
    (next ??= last.then(() => {
      next = undefined;
      const result = read();
      last = Promise.allSettled([result]);
      return result;
    }));
}
