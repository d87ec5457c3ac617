import { isDeepStrictEqual } from 'node:util';
import { DatabaseError } from 'pg';
import { withRowWait } from '../../database/lock-waits/row-wait.js';
import type { Statements } from '../../database/statements.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { ChangeRecorder } from '../recording/change-recorder.js';
import { CreateStatements } from './create-statements.js';
import type { EntityColumns, Identified, RowParameters } from '../properties/entity-columns.js';

/** `unchanged`: it was stored before with equal content. */
export type Stored = 'created' | 'unchanged';

/** `taken`: the id belongs to a row with other content. */
export type Creation = Stored | 'taken';

/** How often other requests may change or remove the stored rows that a group is compared with. */
const MAX_ROUNDS = 8;

export interface Row<Content> {
  readonly content: Content;
  readonly parameters: RowParameters;
  /** Empty if creates are not recorded. */
  readonly actor: RowParameters;
}

export interface GroupInsertOptions<Content> {
  readonly columns: () => EntityColumns;
  /** In an outer transaction, an error of a statement ends the transaction. */
  readonly statements: Statements | Pick<Statements, 'run' | 'rows'>;
  readonly recorder?: ChangeRecorder | undefined;
  readonly recordGroup: (rows: number) => void;
  readonly onCreated: (created: readonly Content[]) => void;
}

const NONE: ReadonlySet<unknown> = new Set();

/** Stores groups of rows, some of which can exist. */
export class GroupInsert<Content extends Identified> {
  private sql: CreateStatements | undefined;
  private pace = 0;
  /**
   * What earlier rounds of groups have committed whose later rounds have failed. Such a group is repeated, and others may
   * have changed these rows since.
   */
  private readonly committed = new WeakMap<Row<Content>, Creation>();

  constructor(private readonly options: GroupInsertOptions<Content>) {}

  get usualTime(): number {
    return this.pace;
  }

  /** @throws RowLockedError if another transaction holds a row for longer than `rowWait`, by default the timeout of other locks */
  async perform(group: readonly Row<Content>[], rowWait?: number): Promise<readonly Creation[]> {
    if (group.length === 0) return [];
    this.options.recordGroup(group.length);
    const [first] = group as readonly [Row<Content>];
    if (group.length === 1 && !this.committed.has(first)) {
      return [(await this.insert(group, rowWait)).get(first.content.id) ?? 'taken'];
    }
    const { isVerbatim } = this.options.columns();
    const creations = new Map<Row<Content>, Creation>();
    let open = group.filter((row) => {
      const creation = this.committed.get(row);
      if (creation !== undefined) creations.set(row, creation);
      return creation === undefined;
    });
    try {
      for (let round = 0; open.length > 0; round += 1) {
        if (round === MAX_ROUNDS) throw new ServiceException(ERRORS.overloaded);
        // A statement can create only the first of several rows with one id.
        const sent = new Map<bigint, Row<Content>>();
        const { creatable, equal } =
          round === 0 ? { creatable: open, equal: NONE } : await this.compare(open);
        for (const row of creatable) {
          if (!sent.has(row.content.id)) sent.set(row.content.id, row);
        }
        const stored = await this.insert([...sent.values()], rowWait);
        open = open.filter((row) => {
          const { id } = row.content;
          const isEqual = equal.has(row) || (isVerbatim ? false : undefined);
          const creation = creationOf(row, sent.get(id), stored.get(id), isEqual);
          if (creation !== undefined) creations.set(row, creation);
          return creation === undefined;
        });
      }
    } catch (error) {
      for (const [row, creation] of creations) this.committed.set(row, creation);
      throw error;
    }
    return group.map((row) => creations.get(row)!);
  }

  /**
   * Stores the rows whose ids are free in one transaction. If concurrent transactions use one id, the first wins.
   *
   * @param rows with different ids
   * @returns the ids that are stored with the content of these rows, now or before
   */
  private async insert(
    rows: readonly Row<Content>[],
    rowWait?: number,
  ): Promise<ReadonlyMap<bigint, Stored>> {
    const stored = new Map<bigint, Stored>();
    if (rows.length === 0) return stored;
    const { statements, onCreated } = this.options;
    // Concurrent transactions that lock ids in one order cannot deadlock.
    const sorted = rows
      .toSorted((one, other) => (one.content.id < other.content.id ? -1 : 1))
      .map(({ parameters, actor }) => parameters.concat(actor));
    const start = performance.now();
    const insert = () =>
      withRowWait(rowWait, (lockWait) =>
        statements.run<{ readonly id: string; readonly created: boolean }>(
          rows.length === 1
            ? this.statements.insertOne(sorted[0]!, lockWait)
            : this.statements.insertMany(sorted, lockWait),
          () => this.statements.insertValues(sorted),
        ),
      );
    let result: Awaited<ReturnType<typeof insert>>;
    try {
      result = await insert();
    } catch (error) {
      // While another transaction creates an equal row, ON CONFLICT (id) may not see its id yet, and the insert violates
      // another unique key. By now, the other row is committed.
      const isUniqueViolation = error instanceof DatabaseError && error.code === '23505';
      const isWhole = 'isDistributed' in statements;
      if (!isWhole || rows.length > 1 || !isUniqueViolation) throw error;
      result = await insert();
    }
    // A statement that has waited for a row says little about others.
    this.pace = Math.min(performance.now() - start, 2 * this.pace + 1);
    for (const { id, created } of result.rows) {
      stored.set(BigInt(id), created ? 'created' : 'unchanged');
    }
    const contents = rows.map(({ content }) => content);
    onCreated(contents.filter(({ id }) => stored.get(id) === 'created'));
    return stored;
  }

  /**
   * Returns the rows whose ids are stored with equal content, and with them the rows whose ids are free. They must be created
   * again, which makes the commit as durable as the first create's: Citus allows no `FOR KEY SHARE` on several shards.
   */
  private async compare(rows: readonly Row<Content>[]) {
    const stored = await this.options.statements.rows<readonly [n: string, isDifferent: boolean]>(
      this.statements.compare(rows.map(({ parameters }) => parameters)),
    );
    const isDifferent = new Map(stored.map(([n, different]) => [rows[Number(n) - 1]!, different]));
    return {
      creatable: rows.filter((row) => isDifferent.get(row) !== true),
      equal: new Set(rows.filter((row) => isDifferent.get(row) === false)),
    };
  }

  private get statements(): CreateStatements {
    const { columns, recorder } = this.options;
    return (this.sql ??= new CreateStatements(columns(), recorder?.statements));
  }
}

/**
 * @param sent the row that was sent with this id; `undefined` if the id belongs to a row with other content
 * @param stored its outcome; `undefined` if it was rejected
 * @param isEqual whether the row equalled the stored row; `undefined` if equal values can have different parameters
 * @returns `undefined` if the row may equal the stored row: the sent row, or the one because of which it was rejected
 */
function creationOf<Content>(
  row: Row<Content>,
  sent: Row<Content> | undefined,
  stored: Stored | undefined,
  isEqual: boolean | undefined,
): Creation | undefined {
  if (sent === undefined) return 'taken';
  if (row === sent) return stored ?? 'taken';
  if (isSame(row.parameters, sent.parameters)) return stored === undefined ? 'taken' : 'unchanged';
  if (stored === undefined || isEqual === undefined) return undefined;
  return isEqual ? 'unchanged' : 'taken';
}

export function isSame(one: RowParameters, other: RowParameters): boolean {
  return one.every((value, at) => value === other[at] || isDeepStrictEqual(value, other[at]));
}
