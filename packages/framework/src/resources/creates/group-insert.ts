import { isDeepStrictEqual } from 'node:util';
import { DatabaseError } from 'pg';
import { RowLockedError } from '../../database/database-failure.js';
import { isRowLocked } from '../../database/row-wait.js';
import type { Statements } from '../../database/statements.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { ChangeRecorder } from '../recording/change-recorder.js';
import { CreateStatements } from './create-statements.js';
import type { RowParameters } from '../properties/entity-columns.js';
import type { EntityColumns, Identified } from '../properties/entity-columns.js';

/** `unchanged`: it was stored before with the same content. */
export type Stored = 'created' | 'unchanged';

/** `taken`: the id belongs to something with other content. */
export type Creation = Stored | 'taken';

/** How often other requests may change and remove what a group is compared with. */
const MAX_ROUNDS = 8;

export interface Row<Content> {
  readonly content: Content;
  readonly parameters: RowParameters;
  /** Empty if creates are not recorded. */
  readonly origin: RowParameters;
}

export interface GroupInsertOptions<Content> {
  /** Known when the database is connected. */
  readonly columns: () => EntityColumns;
  /** In a transaction of somebody else, a statement that fails ends the transaction. */
  readonly statements: Statements | Pick<Statements, 'run' | 'rows'>;
  /** Records creates, if they are recorded. */
  readonly recorder?: ChangeRecorder | undefined;
  /** Records the size of a group. */
  readonly recordGroup: (rows: number) => void;
  /** Called after a commit. */
  readonly onCreated: (created: readonly Content[]) => void;
}

/** Stores groups of rows, of which some can exist. */
export class GroupInsert<Content extends Identified> {
  private sql: CreateStatements | undefined;
  private pace = 0;

  constructor(private readonly options: GroupInsertOptions<Content>) {}

  /** What a statement with its commit takes, in milliseconds. */
  get usualTime(): number {
    return this.pace;
  }

  /**
   * @param rowWait how long a statement waits for the lock of a row, in milliseconds; by default as long as for others
   * @returns what became of each row
   * @throws RowLockedError if another transaction holds one of the rows for longer
   */
  async perform(group: readonly Row<Content>[], rowWait?: number): Promise<readonly Creation[]> {
    if (group.length === 0) return [];
    this.options.recordGroup(group.length);
    const creations = new Map<Row<Content>, Creation>();
    let open = group;
    for (let round = 0; open.length > 0; round += 1) {
      if (round === MAX_ROUNDS) throw new ServiceException(ERRORS.overloaded);
      // A statement can create only the first of several rows with one id.
      const sent = new Map<bigint, Row<Content>>();
      for (const row of round === 0 ? open : await this.creatable(open)) {
        if (!sent.has(row.content.id)) sent.set(row.content.id, row);
      }
      const stored = await this.insert([...sent.values()], rowWait);
      open = open.filter((row) => {
        const { id } = row.content;
        const creation = creationOf(row, sent.get(id), stored.get(id));
        if (creation !== undefined) creations.set(row, creation);
        return creation === undefined;
      });
    }
    return group.map((row) => creations.get(row)!);
  }

  /**
   * Stores the rows whose ids are free in one transaction. If concurrent transactions use the same id, the first wins.
   *
   * @param rows with different ids
   * @param rowWait how long the statement waits for the lock of a row, in milliseconds
   * @throws RowLockedError
   * @returns the ids that are stored with the content of these rows, now or before
   */
  private async insert(
    rows: readonly Row<Content>[],
    rowWait?: number,
  ): Promise<ReadonlyMap<bigint, Stored>> {
    const stored = new Map<bigint, Stored>();
    if (rows.length === 0) return stored;
    const { statements, onCreated } = this.options;
    // Sorted by id, so that concurrent transactions lock ids in the same order and cannot deadlock.
    const sorted = rows
      .toSorted((one, other) => (one.content.id < other.content.id ? -1 : 1))
      .map(({ parameters, origin }) => parameters.concat(origin));
    const start = performance.now();
    const insert = () =>
      statements
        .run<InsertedRow>(
          rows.length === 1
            ? this.statements.insertOne(sorted[0]!, rowWait)
            : this.statements.insertMany(sorted, rowWait),
          () => this.statements.insertValues(sorted),
        )
        .catch((error: unknown) => {
          const took = performance.now() - start;
          const isRow = isRowLocked(error, rowWait === undefined ? 0 : took);
          throw isRow ? new RowLockedError() : error;
        });
    const result = await insert().catch((error: unknown) => {
      // When another transaction creates an equal row at once, ON CONFLICT (id) may not see its id yet, and the insert
      // violates another unique key. By now, the other row is committed.
      const isUniqueViolation = error instanceof DatabaseError && error.code === '23505';
      const isWhole = 'isDistributed' in statements;
      if (isWhole && rows.length === 1 && isUniqueViolation) return insert();
      throw error;
    });
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
   * Returns the rows that a create would find free or stored with the same content. They must be created again, which
   * makes the commit as durable as the commit of the first create: Citus allows no `FOR KEY SHARE` on several shards.
   */
  private async creatable(rows: readonly Row<Content>[]): Promise<readonly Row<Content>[]> {
    const different = await this.options.statements.rows(
      this.statements.findDifferent(rows.map(({ parameters }) => parameters)),
    );
    const numbers = new Set(different.map(([n]) => Number(n)));
    return rows.filter((_, index) => !numbers.has(index + 1));
  }

  private get statements(): CreateStatements {
    const { columns, recorder } = this.options;
    return (this.sql ??= new CreateStatements(columns(), recorder?.statements));
  }
}

interface InsertedRow {
  readonly id: string;
  readonly created: boolean;
}

/**
 * @param sent the row with this id that was sent; `undefined` if the id belongs to a row with other content
 * @param stored what became of it; `undefined` if it was refused
 * @returns `undefined` if the row may equal the stored row that the sent row was refused for
 */
function creationOf<Content>(
  row: Row<Content>,
  sent: Row<Content> | undefined,
  stored: Stored | undefined,
): Creation | undefined {
  if (sent === undefined) return 'taken';
  if (row === sent) return stored ?? 'taken';
  if (isSame(row.parameters, sent.parameters)) return stored === undefined ? 'taken' : 'unchanged';
  return stored === undefined ? undefined : 'taken';
}

export function isSame(one: RowParameters, other: RowParameters): boolean {
  return one.every((value, at) => value === other[at] || isDeepStrictEqual(value, other[at]));
}
