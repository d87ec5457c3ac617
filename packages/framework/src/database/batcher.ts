import { requireSize, Sum } from '../bounds/sum.js';
import { ERRORS } from '../errors/common-errors.js';
import type { ErrorKind } from '../errors/error-kind.js';
import { ServiceException } from '../errors/service.exception.js';
import type { Tracer } from '../observability/tracer.js';
import { isConflict, isOfStatement, isOutage, RowLockedError } from './database-error.js';
import { beginBisection, canBePartial, FIRST_ROWS } from './bisection.js';
import type { Bisection } from './bisection.js';
import { DATABASE_LIMITS } from './limits.js';
import type { DatabaseLimits } from './limits.js';
import { transactionDepth } from './lock-waits/inside-transaction.js';
import { rejectAll, Rejected } from './waiting-item.js';
import type { Group, Waiting } from './waiting-item.js';

/** While PostgreSQL flushes a group to disk, the next group is sent. */
const MAX_RUNNING = 2;

/** Further groups that are halved because of locked rows. */
const MAX_ASIDE = 2;

/** Characters are limited as well, because a row can be as long as a body. */
export const MAX_GROUP = { rows: 500, characters: 1_000_000 };

/**
 * Groups grow if they take less than `fast` milliseconds, and shrink if they take more than `slow`, long before the
 * statement timeout. Twice as many rows take at most twice as long, so a group does not grow only to shrink again.
 */
const PACE = { fast: 1_000, slow: 2_000 };

export const MAX_WAITING = { rows: 1_000, characters: 50_000_000 };

export interface BatcherOptions<Item, Result> {
  /** The number of characters of an item, or of rows that it reads. */
  readonly lengthOf: (item: Item) => number;
  readonly maxRows?: number;
  /** The greatest sum of lengths of a group, unless its first item is longer. */
  readonly maxLength?: number;
  /** Items with one key need one row. By default, each item needs one of its own. */
  readonly keyOf?: (item: Item) => unknown;
  /**
   * Returns one result for each item.
   *
   * @param isRetry whether the database has rejected a larger group with these items
   */
  readonly perform: (items: readonly Item[], isRetry: boolean) => Promise<readonly Result[]>;
  readonly tracer: Tracer;
  /** `reply` also limits the total time of an item, whose waits have timeouts of their own. */
  readonly limits?: DatabaseLimits;
}

/**
 * Performs items in groups. Items that arrive while other groups run share a round trip and a commit, which cost far
 * more than a row. A single item is sent at once, without a delay to fill its group.
 */
export class Batcher<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private readonly waitingCharacters = new Sum();
  private running = 0;
  private aside = 0;
  private readonly limits: DatabaseLimits;
  private readonly rowLimit: number;
  private maxRows: number;
  private nextSend: NodeJS.Immediate | undefined;
  /** Items have timed out in the queue or on a lock of the whole table, and no group has succeeded since. */
  private hasTimedOut = false;

  constructor(private readonly options: BatcherOptions<Item, Result>) {
    this.limits = options.limits ?? DATABASE_LIMITS;
    this.rowLimit = options.maxRows ?? MAX_GROUP.rows;
    this.maxRows = Math.min(FIRST_ROWS, this.rowLimit);
  }

  get queue() {
    return {
      rows: this.waiting.length,
      maxRows: MAX_WAITING.rows,
      characters: this.waitingCharacters.value,
      maxCharacters: MAX_WAITING.characters,
    };
  }

  /**
   * Resolves when the transaction of the item is committed.
   *
   * @param begun when its time began, as of `performance.now()`
   * @throws ServiceException `overloaded`. As after any other error, the item may have been performed
   * @throws GroupLockedError
   * @throws TypeError if its length is not a size
   */
  add(item: Item, begun = performance.now()): Promise<Result> {
    return new Promise((resolve, reject) =>
      this.enqueue(item, begun, (result) =>
        result instanceof Rejected ? reject(result.reason) : resolve(result),
      ),
    );
  }

  /** Like {@link add} for each item, with one promise for all. Resolves when all are settled. */
  addAll(items: readonly Item[]): Promise<readonly (Result | Rejected)[]> {
    const begun = performance.now();
    const results: (Result | Rejected)[] = [];
    let open = items.length;
    return new Promise((resolve) => {
      if (open === 0) resolve(results);
      for (const [at, item] of items.entries()) {
        this.enqueue(item, begun, (result) => {
          // It can be too slow first, and end later.
          if (at in results) return;
          results[at] = result;
          open -= 1;
          if (open === 0) resolve(results);
        });
      }
    });
  }

  private enqueue(item: Item, begun: number, settle: Waiting<Item, Result>['settle']): void {
    const characters = requireSize(this.options.lengthOf(item));
    if (!this.hasRoom(characters)) {
      settle(new Rejected(new ServiceException(ERRORS.overloaded)));
      return;
    }
    const entry: Waiting<Item, Result> = {
      item,
      characters,
      begun,
      timer: setTimeout(
        () => this.rejectWaiting(entry),
        Math.min(this.limits.queue, begun + this.limits.reply - performance.now()),
      ).unref(),
      spans: this.options.tracer.served(),
      settle,
    };
    // Its transaction may hold a connection for which others of its group wait.
    if (transactionDepth() > 0) {
      void this.sendAlone(entry);
      return;
    }
    this.waiting.push(entry);
    this.waitingCharacters.add(characters);
    // Reads all requests that have arrived before it sends a group.
    this.nextSend ??= setImmediate(() => {
      this.nextSend = undefined;
      this.sendNext();
    });
  }

  private hasRoom(characters: number): boolean {
    // After a group has failed, a new group tries again.
    if (this.hasTimedOut && this.running === MAX_RUNNING) return false;
    return (
      this.waiting.length === 0 ||
      (this.waiting.length < MAX_WAITING.rows &&
        this.waitingCharacters.value + characters <= MAX_WAITING.characters)
    );
  }

  private sendNext(): void {
    while (this.waiting.length > 0 && this.running < MAX_RUNNING) {
      this.running += 1;
      void this.send(this.nextGroup());
    }
  }

  private async sendAlone(entry: Waiting<Item, Result>): Promise<void> {
    await this.commit([entry], beginBisection(this.limits.bisection));
    clearTimeout(entry.timer);
  }

  private async send(group: Group<Item, Result>): Promise<void> {
    const start = performance.now();
    const bisection = beginBisection(this.limits.bisection);
    const error = await this.commit(group, bisection);
    for (const { timer } of group) clearTimeout(timer);
    if (bisection.isAside) this.aside -= 1;
    else this.running -= 1;
    // Others would only wait for the lock of the table as well.
    const isTableLocked = isOfKind(error, ERRORS.rowLocked) && !(error instanceof RowLockedError);
    if (isTableLocked) this.hasTimedOut = true;
    else if (error === undefined) this.hasTimedOut = false;
    if (bisection.isPartial) this.maxRows = Math.min(this.maxRows, FIRST_ROWS);
    // The wait for a connection, or for other transactions, does not depend on the rows.
    else if (!isOfKind(error, ERRORS.poolExhausted) && !isConflict(error)) {
      this.adapt(group.length, performance.now() - start, error === undefined);
    }
    this.sendNext();
  }

  /** Adapts the size of groups, so that slow rows do not exceed the statement timeout together. */
  private adapt(rows: number, milliseconds: number, isStored: boolean): void {
    if (milliseconds > PACE.slow) {
      // The duration of a small group says little about larger groups, so the size shrinks only to half of that.
      this.maxRows = Math.max(1, Math.min(this.maxRows, Math.max(rows, FIRST_ROWS)) >> 1);
    } else if (isStored && milliseconds < PACE.fast && rows >= this.maxRows) {
      this.maxRows = Math.min(this.rowLimit, rows * 2);
    }
  }

  private nextGroup(): Group<Item, Result> {
    const { maxLength = MAX_GROUP.characters } = this.options;
    let characters = 0;
    const tooMany = this.waiting.findIndex((entry, index) => {
      characters += entry.characters;
      return index === this.maxRows || (index > 0 && characters > maxLength);
    });
    const group = this.waiting.splice(0, tooMany === -1 ? this.waiting.length : tooMany);
    for (const entry of group) this.waitingCharacters.subtract(entry.characters);
    return group;
  }

  /** Rejects an item that has waited in the queue for its time. One whose group runs has the rest of its total time. */
  private rejectWaiting(entry: Waiting<Item, Result>): void {
    const index = this.waiting.indexOf(entry);
    if (index === -1) {
      const reject = () => entry.settle(new Rejected(new ServiceException(ERRORS.databaseTooSlow)));
      entry.timer = setTimeout(reject, entry.begun + this.limits.reply - performance.now()).unref();
      return;
    }
    this.waiting.splice(index, 1);
    this.waitingCharacters.subtract(entry.characters);
    entry.settle(new Rejected(new ServiceException(ERRORS.overloaded)));
    // Further items would only time out as well.
    this.hasTimedOut = true;
  }

  /**
   * Performs a group, and settles its items. If some of its rows can have caused the error, both halves of the group
   * are retried.
   *
   * @returns `undefined` if the group succeeded or single rows were rejected; otherwise the error that ended it
   */
  private async commit(group: Group<Item, Result>, bisection: Bisection): Promise<unknown> {
    const { tracer, perform } = this.options;
    try {
      const isRetry = bisection.statements > 0;
      bisection.statements += 1;
      const items = group.map(({ item }) => item);
      const spans = group.flatMap((entry) => entry.spans);
      const results = await tracer.serving(spans, () => perform(items, isRetry));
      for (const [index, entry] of group.entries()) entry.settle(results[index]!);
      bisection.errorsInARow = 0;
      return undefined;
    } catch (error) {
      // The driver can fail to write or read a value, while the database serves others.
      const isOfRow = !isOutage(error) && !isOfStatement(error);
      const mayBeOfRow = isOfRow || canBePartial(error, bisection);
      const canHalve = group.length > 1 && (isOfRow || this.keysOf(group).size > 1);
      if (!mayBeOfRow || !canHalve) {
        rejectAll(group, error, canHalve);
        return mayBeOfRow ? undefined : error;
      }
    }
    this.stepAside(bisection);
    const [first, second] = this.halves(group);
    const error = await this.commit(first, bisection);
    if (error === undefined) return this.commit(second, bisection);
    // The second half would only run into the error as well.
    rejectAll(second, error, true);
    return error;
  }

  /** Its statements wait for one locked row after the other, so the queue does not wait for all of them. */
  private stepAside(bisection: Bisection): void {
    if (!bisection.isLocked || bisection.isAside || this.aside === MAX_ASIDE) return;
    bisection.isAside = true;
    this.aside += 1;
    this.running -= 1;
    this.sendNext();
  }

  /** Keeps items with one key together, as far as there are others. */
  private halves(group: Group<Item, Result>): readonly [Group<Item, Result>, Group<Item, Result>] {
    const keys = [...this.keysOf(group)];
    const parts = keys.length === 1 ? group : keys;
    const first = new Set<unknown>(parts.slice(0, (parts.length + 1) >> 1));
    const isFirst = (entry: Waiting<Item, Result>) =>
      first.has(keys.length === 1 ? entry : this.keyOf(entry));
    return [group.filter(isFirst), group.filter((entry) => !isFirst(entry))];
  }

  private keysOf(group: Group<Item, Result>): ReadonlySet<unknown> {
    return new Set(group.map((entry) => this.keyOf(entry)));
  }

  private keyOf(entry: Waiting<Item, Result>): unknown {
    return this.options.keyOf === undefined ? entry : this.options.keyOf(entry.item);
  }
}

function isOfKind(error: unknown, kind: ErrorKind): boolean {
  return error instanceof ServiceException && error.kind === kind;
}
