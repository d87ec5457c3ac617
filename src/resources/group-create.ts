import { isDeepStrictEqual } from 'node:util';
import { DatabaseError } from 'pg';
import { Batcher } from '../database/batcher.js';
import type { Statements } from '../database/statements.js';
import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { Metrics } from '../observability/metrics.js';
import type { Tracer } from '../observability/tracer.js';
import { withConstraintErrors } from './constraints.js';
import type { ConstraintErrors } from './constraints.js';
import { CreateStatements } from './create-statements.js';
import type { RowParameters } from './create-statements.js';
import type { EntityColumns, Identified, IdFailure } from './entity-columns.js';
import type { History } from './history/history.js';
import { requireOrigin } from './history/origin.js';
import type { Origin } from './history/origin.js';
import { originParameters } from './history/record-statements.js';

/** `unchanged`: it was stored before with the same content. */
export type Stored = 'created' | 'unchanged';

/** `taken`: the id belongs to something with other content. */
type Creation = Stored | 'taken';

/** How often other requests may change and remove what a group is compared with. */
const MAX_ROUNDS = 8;

interface Row<Content> {
  readonly content: Content;
  readonly parameters: RowParameters;
  /** Empty if creates are not recorded. */
  readonly origin: RowParameters;
}

export interface GroupCreateOptions<Content> {
  /** Of the metrics. */
  readonly resource: string;
  /** Known when the database is connected. */
  readonly columns: () => EntityColumns;
  readonly statements: Statements;
  /** Of the records of creates, if these are recorded. */
  readonly history?: History | undefined;
  readonly constraints: ConstraintErrors;
  readonly idTaken: IdFailure;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  /** Called after a commit. */
  readonly onCreated: (created: readonly Content[]) => void;
}

/**
 * Creates rows of an entity whose clients choose the id. The rows of many requests share a transaction. Creating a row
 * again with the same content succeeds and changes nothing, so clients can repeat a request
 * (docs/decisions/group-commit.md, docs/decisions/replays-and-conflicts.md).
 */
export class GroupCreate<Content extends Identified> {
  private readonly batcher: Batcher<Row<Content>, Creation>;
  private sql: CreateStatements | undefined;
  private lastCreate = -Infinity;

  constructor(private readonly options: GroupCreateOptions<Content>) {
    const { resource, metrics, tracer } = options;
    this.batcher = new Batcher({
      lengthOf: ({ parameters }) => options.columns().lengthOf(parameters),
      perform: (group, isRetry) => this.perform(group, isRetry),
      tracer,
    });
    metrics.observeCreationQueue(resource, () => this.batcher.queue);
  }

  /**
   * Resolves when the row is committed.
   *
   * @param origin required if creates are recorded
   * @throws PlantStoreError `idTaken` when a row with other content is committed, or as after any failure of the
   *   database. The row may have been stored then
   */
  create(content: Content, origin?: Origin): Promise<Stored> {
    this.lastCreate = performance.now();
    return this.createOneOfMany(content, origin);
  }

  /** Like {@link create}, for a request with many rows, which leaves priority to requests with a single row. */
  async createOneOfMany(content: Content, origin?: Origin): Promise<Stored> {
    const { constraints, idTaken, history } = this.options;
    const row = {
      content,
      parameters: this.parametersOf(content),
      origin: history?.records === undefined ? [] : originParameters(requireOrigin(origin)),
    };
    const creation = await withConstraintErrors(constraints, () => this.batcher.add(row));
    if (creation === 'taken') throw idTaken(content.id);
    return creation;
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

  private async perform(
    group: readonly Row<Content>[],
    isRetry: boolean,
  ): Promise<readonly Creation[]> {
    this.options.metrics.recordGroup(this.options.resource, group.length);
    const creations = new Map<Row<Content>, Creation>();
    let open = group;
    for (let round = 0; open.length > 0; round += 1) {
      if (round === MAX_ROUNDS) throw new PlantStoreError(ERRORS.overloaded);
      // Of several rows with one id, only the first can be created in a statement.
      const sent = new Map<bigint, Row<Content>>();
      for (const row of round === 0 ? open : await this.creatable(open)) {
        if (!sent.has(row.content.id)) sent.set(row.content.id, row);
      }
      const stored = await this.insert([...sent.values()], isRetry);
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
   * @param isRetry whether the statement waits only shortly for a lock, because a larger group has waited before
   * @returns the ids that are stored with the content of these rows, now or before
   */
  private async insert(
    rows: readonly Row<Content>[],
    isRetry: boolean,
  ): Promise<ReadonlyMap<bigint, Stored>> {
    const stored = new Map<bigint, Stored>();
    if (rows.length === 0) return stored;
    const { statements, onCreated } = this.options;
    // Sorted by id, so that concurrent transactions lock ids in the same order and cannot deadlock.
    const sorted = rows
      .toSorted((one, other) => (one.content.id < other.content.id ? -1 : 1))
      .map(({ parameters, origin }) => parameters.concat(origin));
    const insert = () =>
      rows.length === 1 && !isRetry
        ? statements.run<InsertedRow>(this.statements.insertOne(sorted[0]!))
        : statements.run<InsertedRow>(this.statements.insertMany(sorted, isRetry), () =>
            this.statements.insertValues(sorted),
          );
    const result = await insert().catch((error: unknown) => {
      // When another transaction creates an equal row at once, ON CONFLICT (id) may not see its id yet, and the insert
      // violates another unique key. By now, the other row is committed.
      const isUniqueViolation = error instanceof DatabaseError && error.code === '23505';
      if (rows.length === 1 && isUniqueViolation) return insert();
      throw error;
    });
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
    const { columns, history } = this.options;
    return (this.sql ??= new CreateStatements(columns(), history?.records));
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

function isSame(one: RowParameters, other: RowParameters): boolean {
  return one.every((value, at) => value === other[at] || isDeepStrictEqual(value, other[at]));
}
