import type { EntityManager } from 'typeorm';
import { Batcher } from '../../database/batcher.js';
import { Rejected } from '../../database/waiting-item.js';
import { GroupLockedError, RowLockedError } from '../../database/database-error.js';
import { DATABASE_LIMITS } from '../../database/limits.js';
import type { Semaphore } from '../../database/semaphore.js';
import type { Statements } from '../../database/statements.js';
import type { Transactions } from '../../database/transactions.js';
import type { Tracer } from '../../observability/tracer.js';
import { rowError, withRowErrors } from '../properties/constraints.js';
import type { RowErrors } from '../properties/constraints.js';
import type { Identified, IdError } from '../properties/entity-columns.js';
import { findLocked, neededKeys } from '../locks/locked-rows.js';
import { GroupInsert } from './group-insert.js';
import { partsOf, requireFewRows, requireShortRows } from './many-rows.js';
import type { Creation, GroupInsertOptions, Row, Stored } from './group-insert.js';
import type { LockedRows, RowKey } from '../locks/locked-rows.js';
import { actorParameters, requireActor } from '../recording/actor.js';
import type { Actor } from '../recording/actor.js';

/**
 * The timeout of a group's statement for a row that another transaction holds, in milliseconds: a few commits, but at least
 * `least`, and `again` when a part of the group is retried. A create that needs a row for longer leaves the group.
 */
export const ROW_WAIT = { commits: 4, least: 50, again: 5 } as const;

/** The timeout of a retry where creates wait together for such rows. Their first try has the timeout of other locks. */
const RETRY_LOCKED_WAIT = 50;

/** `locked`: another transaction holds a row that it needs. */
type Outcome = Creation | 'locked';

export interface GroupCreateOptions<Content> extends GroupInsertOptions<Content>, RowErrors {
  readonly statements: Statements;
  readonly transactions: Transactions;
  readonly idTaken: IdError<bigint>;
  readonly tracer: Tracer;
  readonly locked: LockedRows;
  readonly lockedSlots: Semaphore;
}

/**
 * Creates rows of an entity whose clients choose the id. The rows of many requests share a transaction
 * (docs/decisions/group-commit.md). Clients can repeat a request: creating an equal row again succeeds and changes nothing
 * (docs/decisions/replays-and-conflicts.md).
 */
export class GroupCreate<Content extends Identified> {
  private readonly inserts: GroupInsert<Content>;
  private readonly groups: Batcher<Row<Content>, Outcome>;
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
            ? this.inserts.perform(group, RETRY_LOCKED_WAIT)
            : this.perform(group, new Set<RowKey>()),
        ),
    });
  }

  get queue() {
    return this.groups.queue;
  }

  /**
   * Resolves when the row is committed.
   *
   * @param actor required if creates are recorded
   * @param outer the create becomes part of this transaction, resolves before its commit, shares no statement with others,
   *   and does not call `onCreated` (docs/framework/transactions.md)
   * @throws ServiceException `idTaken` if a row with other content is committed, or any error of the database, after which
   *   the row may be stored
   */
  async create(content: Content, actor?: Actor, outer?: EntityManager): Promise<Stored> {
    this.lastCreate = performance.now();
    const row = this.rowOf(content, actor);
    // Not `withRowErrors`, nor a method for both: each create would pay for its promise.
    try {
      const stored = outer === undefined ? this.store(row) : this.storeInOuter(outer, row);
      return this.resultOf(row, await stored);
    } catch (error) {
      throw rowError(this.options, content, error);
    }
  }

  /**
   * Creates many rows of one request, to which requests with a single row have priority.
   *
   * @returns what {@link create} returns or throws, for each row, when all are settled
   */
  async createMany(rows: readonly Row<Content>[]): Promise<readonly (Stored | Rejected)[]> {
    const begun = performance.now();
    const results: (Stored | Rejected)[] = [];
    const others: Promise<unknown>[] = [];
    for (const [at, outcome] of (await this.groups.addAll(rows)).entries()) {
      if (outcome === 'created' || outcome === 'unchanged') {
        results[at] = outcome;
        continue;
      }
      const row = rows[at]!;
      const group = outcome instanceof Rejected ? Promise.reject(outcome.reason) : outcome;
      const settled = this.store(row, begun, group)
        .then((stored) => this.resultOf(row, stored))
        .catch((error: unknown) => new Rejected(rowError(this.options, row.content, error)));
      others.push(settled.then((result) => (results[at] = result)));
    }
    await Promise.all(others);
    return results;
  }

  async createAll(
    contents: readonly Content[],
    actor?: Actor,
    outer?: EntityManager,
  ): Promise<void> {
    const { columns, idTaken, onCreated, transactions } = this.options;
    requireFewRows(contents);
    // Transactions that lock ids in one order cannot deadlock.
    const rows = contents
      .map((content) => this.rowOf(content, actor))
      .toSorted((one, other) => (one.content.id < other.content.id ? -1 : 1));
    requireShortRows(
      columns(),
      rows.map(({ parameters }) => parameters),
    );
    const created: Content[] = [];
    const work = async (manager: EntityManager): Promise<void> => {
      created.length = 0;
      const inserts = this.insertsIn(manager, (some) => void created.push(...some));
      for (const part of partsOf(rows)) {
        const taken = (await inserts.perform(part)).indexOf('taken');
        if (taken !== -1) throw idTaken(part[taken]!.content.id);
      }
    };
    // PostgreSQL does not say which row it rejects.
    await withRowErrors(this.options, {}, () => transactions.run(work, outer));
    if (outer === undefined) onCreated(created);
  }

  /**
   * @param actor required if creates are recorded
   * @throws ServiceException if no column can store a value
   */
  rowOf(content: Content, actor: Actor | undefined): Row<Content> {
    const { columns, recorder } = this.options;
    return {
      content,
      parameters: columns().parametersOf(content),
      actor: recorder?.statements === undefined ? [] : actorParameters(requireActor(actor)),
    };
  }

  private resultOf(row: Row<Content>, outcome: Outcome): Stored {
    if (outcome === 'taken') throw this.options.idTaken(row.content.id);
    if (outcome === 'locked') throw new RowLockedError();
    return outcome;
  }

  get sinceCreate(): number {
    return performance.now() - this.lastCreate;
  }

  private async storeInOuter(outer: EntityManager, row: Row<Content>): Promise<Outcome> {
    const [outcome] = await this.insertsIn(outer, () => {}).perform([row]);
    return outcome!;
  }

  private insertsIn(
    outer: EntityManager,
    onCreated: (created: readonly Content[]) => void,
  ): GroupInsert<Content> {
    const statements = this.options.statements.in(outer);
    return new GroupInsert({ ...this.options, statements, onCreated });
  }

  /** @param ended its outcome in a group that has ended */
  private async store(
    row: Row<Content>,
    begun = performance.now(),
    ended?: Outcome | Promise<Outcome>,
  ): Promise<Outcome> {
    const { locked } = this.options;
    for (let group = ended; ; group = undefined) {
      const isFree = group !== undefined || !this.needs(row, locked);
      let outcome: Outcome;
      try {
        outcome = await (group ?? (isFree ? this.groups : this.waiting).add(row, begun));
      } catch (error) {
        if (!(error instanceof RowLockedError)) throw error;
        // Another transaction creates this row: `findLocked` sees all others.
        if (!(error instanceof GroupLockedError)) locked.add(this.keysOf(row)[0]!);
        outcome = 'locked';
      }
      if (isFree && outcome === 'locked') continue;
      if (!isFree && outcome !== 'locked') for (const key of this.keysOf(row)) locked.delete(key);
      return outcome;
    }
  }

  /** Performs a group without the creates that need rows which another transaction holds. Adds these rows to `locked`. */
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
    if (locked.size === 0) return this.inserts.perform(group, rowWait);
    const free = group.filter((row) => !this.needs(row, locked));
    const performed = await this.inserts.perform(free, rowWait);
    let next = 0;
    return group.map((row) => (row === free[next] ? performed[next++]! : 'locked'));
  }

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
