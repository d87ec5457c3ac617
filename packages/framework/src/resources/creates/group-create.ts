import type { EntityManager } from 'typeorm';
import { Batcher } from '../../database/batcher.js';
import { GroupLockedError, RowLockedError } from '../../database/database-failure.js';
import { DATABASE_LIMITS } from '../../database/limits.js';
import type { Semaphore } from '../../database/semaphore.js';
import type { Statements } from '../../database/statements.js';
import type { Tracer } from '../../observability/tracer.js';
import { rowError } from '../properties/constraints.js';
import type { RowErrors } from '../properties/constraints.js';
import type { RowParameters } from '../properties/entity-columns.js';
import type { Identified, IdFailure } from '../properties/entity-columns.js';
import { findLocked } from '../locks/find-locked.js';
import { GroupInsert, isSame } from './group-insert.js';
import type { Creation, GroupInsertOptions, Row, Stored } from './group-insert.js';
import { neededKeys } from '../locks/locked-rows.js';
import type { LockedRows, RowKey } from '../locks/locked-rows.js';
import { originParameters, requireOrigin } from '../recording/origin.js';
import type { Origin } from '../recording/origin.js';

/**
 * How long a statement of a group waits for a row that another transaction holds, in milliseconds: for a few commits, but at
 * least this long, and shorter when a part of the group is performed again. A create that needs a row which is held longer
 * leaves the group.
 */
export const ROW_WAIT = { commits: 4, least: 50, again: 5 } as const;

/** The same where creates wait together for such rows. At first, they wait as long as others do for any lock. */
const AGAIN_FOR_LOCKED = 50;

/** `locked`: another transaction holds a row that it needs. */
type Outcome = Creation | 'locked';

export interface GroupCreateOptions<Content> extends GroupInsertOptions<Content>, RowErrors {
  readonly statements: Statements;
  readonly idTaken: IdFailure<bigint>;
  readonly tracer: Tracer;
  /** All resources share it. */
  readonly locked: LockedRows;
  /** Creates that need locked rows use it. */
  readonly lockedSlots: Semaphore;
}

/**
 * Creates rows of an entity whose clients choose the id. The rows of many requests share a transaction. Creating a row
 * again with the same content succeeds and changes nothing, so clients can repeat a request
 * (docs/decisions/group-commit.md, docs/decisions/replays-and-conflicts.md).
 */
export class GroupCreate<Content extends Identified> {
  private readonly inserts: GroupInsert<Content>;
  private readonly groups: Batcher<Row<Content>, Outcome>;
  /** Creates that need locked rows. */
  private readonly waiting: Batcher<Row<Content>, Outcome>;
  private lastCreate = -Infinity;

  constructor(private readonly options: GroupCreateOptions<Content>) {
    const { tracer, locked, lockedSlots } = options;
    this.inserts = new GroupInsert(options);
    const items = {
      lengthOf: ({ parameters }: Row<Content>) => options.columns().lengthOf(parameters),
      keyOf: ({ content }: Row<Content>) => content.id,
      tracer,
      limits: options.statements.limits,
    };
    this.groups = new Batcher({
      ...items,
      perform: (group, isRetry) =>
        isRetry
          ? this.performFree(group, locked, ROW_WAIT.again)
          : this.perform(group, locked, this.rowWait),
    });
    this.waiting = new Batcher({
      ...items,
      perform: (group, isRetry) =>
        lockedSlots.run(() =>
          isRetry
            ? this.inserts.perform(group, AGAIN_FOR_LOCKED)
            : this.perform(group, new Set<RowKey>()),
        ),
    });
  }

  /** The creates that wait for the next group. */
  get queue() {
    return this.groups.queue;
  }

  /**
   * Resolves when the row is committed.
   *
   * @param origin required if creates are recorded
   * @param outer the create becomes part of this transaction, resolves before its commit, shares no statement with others,
   *   and is not told to `onCreated` (docs/framework/transactions.md)
   * @throws ServiceException `idTaken` when a row with other content is committed, or as after any failure of the
   *   database. The row may have been stored then
   */
  create(content: Content, origin?: Origin, outer?: EntityManager): Promise<Stored> {
    this.lastCreate = performance.now();
    return this.createBy(
      outer === undefined ? (row) => this.store(row) : (row) => this.storeInOuter(outer, row),
      content,
      origin,
    );
  }

  /** Like {@link create}, for a request with many rows, which leaves priority to requests with a single row. */
  createOneOfMany(content: Content, origin?: Origin): Promise<Stored> {
    return this.createBy((row) => this.store(row), content, origin);
  }

  private async createBy(
    store: (row: Row<Content>) => Promise<Outcome>,
    content: Content,
    origin: Origin | undefined,
  ): Promise<Stored> {
    const { idTaken, recorder } = this.options;
    const row = {
      content,
      parameters: this.parametersOf(content),
      origin: recorder?.statements === undefined ? [] : originParameters(requireOrigin(origin)),
    };
    let outcome: Outcome;
    // Not `withRowErrors`: each create would pay for its promise.
    try {
      outcome = await store(row);
    } catch (error) {
      throw rowError(this.options, content, error);
    }
    if (outcome === 'taken') throw idTaken(content.id);
    if (outcome === 'locked') throw new RowLockedError();
    return outcome;
  }

  /** Milliseconds since {@link create} was called. */
  get sinceCreate(): number {
    return performance.now() - this.lastCreate;
  }

  /** Whether both would be stored as the same row. */
  isSame(one: Content, other: Content): boolean {
    return isSame(this.parametersOf(one), this.parametersOf(other));
  }

  private parametersOf(content: Content): RowParameters {
    return this.options.columns().parametersOf(content);
  }

  private async storeInOuter(outer: EntityManager, row: Row<Content>): Promise<Outcome> {
    const statements = this.options.statements.in(outer);
    const inserts = new GroupInsert({ ...this.options, statements, onCreated: () => {} });
    const [outcome] = await inserts.perform([row]);
    return outcome!;
  }

  private async store(row: Row<Content>): Promise<Outcome> {
    const { locked } = this.options;
    const begun = performance.now();
    while (!this.needs(row, locked)) {
      const outcome = await this.storeIn(this.groups, row, begun);
      if (outcome !== 'locked') return outcome;
    }
    const outcome = await this.storeIn(this.waiting, row, begun);
    if (outcome !== 'locked') for (const key of this.keysOf(row)) locked.delete(key);
    return outcome;
  }

  private async storeIn(
    groups: Batcher<Row<Content>, Outcome>,
    row: Row<Content>,
    begun: number,
  ): Promise<Outcome> {
    try {
      return await groups.add(row, begun);
    } catch (error) {
      if (!(error instanceof RowLockedError)) throw error;
      // Another transaction creates it: if it held another row, that would have been found.
      if (!(error instanceof GroupLockedError)) this.options.locked.add(this.keysOf(row)[0]!);
      return 'locked';
    }
  }

  /**
   * Performs a group. If another transaction holds rows, those that need them are left out.
   *
   * @param locked rows that are known to be locked. What is found is added
   * @param rowWait how long a statement waits for the lock of a row, in milliseconds; by default as long as for others
   */
  private async perform(
    group: readonly Row<Content>[],
    locked: Pick<LockedRows, 'has' | 'size'> & { add(key: RowKey): unknown },
    rowWait?: number,
  ): Promise<readonly Outcome[]> {
    try {
      return await this.performFree(group, locked, rowWait);
    } catch (error) {
      if (!(error instanceof RowLockedError)) throw error;
      const { statements, columns } = this.options;
      const rows = group.map(({ parameters }) => parameters);
      const found = await findLocked(statements, columns(), rows);
      if (found.length === 0) throw error;
      for (const key of found) {
        locked.add(key);
        this.options.locked.add(key);
      }
    }
    return this.performFree(group, locked, ROW_WAIT.again);
  }

  private async performFree(
    group: readonly Row<Content>[],
    locked: Pick<LockedRows, 'has' | 'size'>,
    rowWait?: number,
  ): Promise<readonly Outcome[]> {
    const free = group.filter((row) => !this.needs(row, locked));
    const performed = await this.inserts.perform(free, rowWait);
    let next = 0;
    return group.map((row) => (row === free[next] ? performed[next++]! : 'locked'));
  }

  /** Whether a create needs one of the rows. */
  private needs(row: Row<Content>, rows: Pick<LockedRows, 'has' | 'size'>): boolean {
    return rows.size > 0 && this.keysOf(row).some((key) => rows.has(key));
  }

  private keysOf({ parameters }: Row<Content>): readonly RowKey[] {
    return neededKeys(this.options.columns(), parameters);
  }

  private get rowWait(): number {
    const commits = Math.round(ROW_WAIT.commits * this.inserts.usualTime);
    return Math.min(DATABASE_LIMITS.lock, Math.max(ROW_WAIT.least, commits));
  }
}
