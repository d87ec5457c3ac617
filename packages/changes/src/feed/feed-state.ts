import { escapeIdentifier } from 'pg';
import { prepared } from '@resource-service/framework/extension';
import type { Statements } from '@resource-service/framework';
import type { EntityColumns, Semaphore } from '@resource-service/framework/extension';

/** Where a reader can be. */
export interface FeedState {
  /** No record with this position or a lower one will come. */
  readonly lowWatermark: bigint;
  /** The newest position that was given to a record, which may not be committed yet. */
  readonly newest: bigint;
  /** Records up to this position were removed because of their age. */
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
}

/** Reads the state of a feed. */
export class FeedStates {
  private reading: Promise<unknown> = Promise.resolve();
  private next: Promise<FeedState> | undefined;

  constructor(private readonly options: FeedStatesOptions) {}

  /** @throws ServiceException as after any failure of the database */
  async read(): Promise<FeedState> {
    const { statements, records } = this.options;
    const name = escapeIdentifier(`${records().tableName}_horizon`);
    const [row] = await statements.rows<[string, string, string, string, boolean]>({
      ...prepared(`SELECT horizon, newest, pruned_to, jumped_to, is_held FROM ${name}()`),
      values: [],
    });
    const [lowWatermark, newest, prunedTo, incarnationStart, isBlocked] = row!;
    return {
      lowWatermark: BigInt(lowWatermark),
      newest: BigInt(newest),
      prunedTo: BigInt(prunedTo),
      incarnationStart: BigInt(incarnationStart),
      isBlocked,
    };
  }

  /** All callers share a reading that begins after their calls: thousands of followers can come at once. */
  readShared(): Promise<FeedState> {
    this.next ??= this.reading.then(() => {
      this.next = undefined;
      const state = this.options.slots.run(() => this.read());
      this.reading = Promise.allSettled([state]);
      return state;
    });
    return this.next;
  }

  /** @throws ServiceException `database-unavailable` if the server is another one, and could not note it yet */
  async requireKnownServer(): Promise<void> {
    const { statements, records } = this.options;
    const begin = escapeIdentifier(`begin_${records().tableName}`);
    await statements.rows({ text: `SELECT ${begin}()`, values: [] });
  }
}
