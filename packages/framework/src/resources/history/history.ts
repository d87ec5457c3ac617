import type { Type } from '@nestjs/common';
import { escapeIdentifier } from 'pg';
import type { Logger } from 'pino';
import { isOutage } from '../../database/database-failure.js';
import type { Semaphore } from '../../database/semaphore.js';
import { prepared } from '../../database/statements.js';
import type { Statements } from '../../database/statements.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { StartupError } from '../../errors/startup.error.js';
import { Page } from '../../http/answers/page.js';
import type { PageParameters } from '../../http/answers/page.js';
import { describeFailure } from '../../observability/describe-failure.js';
import type { EntityColumns } from '../entity-columns.js';
import { MAX_INT64 } from '../int64.js';
import type { Key } from '../key-type.js';
import type { Filter, UsedFilter } from '../page-query.js';
import { PageStatements } from '../page-statement.js';
import { BY_ID } from '../sort.js';
import { ChangeWriter } from './change-writer.js';
import type { WrittenChange } from './change-writer.js';
import { warnWithoutIncarnations } from './incarnations.js';
import { findObstacles } from './obstacles.js';
import { NearestRecords } from './nearest-records.js';
import { incarnationOf, MAX_POSITION } from './position.js';
import { RecordStatements } from './record-statements.js';

/** Most bytes of a page, unless its first item has more. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

export interface HistoryOptions {
  /** The name of the content in a change, such as `tool`. */
  readonly member: string;
  /** The class of the content. */
  readonly dto: Type;
  /** The table that changes. Known when the database is connected. */
  readonly columns: () => EntityColumns;
  /** The table of the records. */
  readonly changes: () => EntityColumns;
  readonly statements: Statements;
  readonly slots: Semaphore;
  /** `undefined`: if the database can. */
  readonly isWanted: boolean | undefined;
  readonly logger: Logger;
}

/** Where a reader can be. */
export interface FeedState {
  /** No record with this position or a lower one will come. */
  readonly lowWatermark: bigint;
  /** The newest position that was given to a record, which may not be committed yet. */
  readonly newest: bigint;
  /** Records up to this position were removed because of their age. */
  readonly prunedTo: bigint;
  /** Where the incarnation of the server begins: a server that may lack records that were read before has another one. */
  readonly jumpedTo: bigint;
  /** Whether an open transaction holds readers back. */
  readonly isHeld: boolean;
}

/** Where a reader starts. */
export interface Start extends FeedState, Pick<ChangeQuery, 'after' | 'isFirst'> {}

export interface ChangeQuery {
  /** The last position that the reader knows. */
  readonly after: bigint;
  /** Whether the reader begins with the oldest record: then none is missing, whatever was removed. */
  readonly isFirst: boolean;
  /** The last position that it may read: a low watermark. */
  readonly until: bigint;
  /** Only changes of this id. */
  readonly id?: Key | undefined;
  readonly limit: number;
  readonly maxBytes: number;
}

export interface FoundChanges {
  readonly changes: readonly WrittenChange[];
  /** Whether these are all until the end of the query. */
  readonly isWhole: boolean;
}

/** The records of the changes of an entity, in an order that no reader misses one (docs/decisions/order-of-changes.md). */
export class History {
  private known: RecordStatements | undefined;
  /** The database could not tell yet whether changes can be recorded, or could not note that they are. */
  private isPending = false;
  private sql: PageStatements | undefined;
  private writer: ChangeWriter | undefined;
  private reading: Promise<unknown> = Promise.resolve();
  private nextState: Promise<FeedState> | undefined;

  private readonly nearestRecords: NearestRecords;

  constructor(private readonly options: HistoryOptions) {
    this.nearestRecords = new NearestRecords(options);
  }

  /** The name of the table of the records. */
  get table(): string {
    return this.options.changes().tableName;
  }

  /**
   * How changes are recorded; `undefined`: they are not.
   *
   * @throws ServiceException `database-unavailable` if {@link begin} has failed: a change could have no record
   */
  get records(): RecordStatements | undefined {
    if (this.isPending) throw new ServiceException(ERRORS.databaseUnavailable);
    return this.known;
  }

  /**
   * Finds out whether changes can be recorded. To be called before the first change, and again until it succeeds: a
   * database that is read-only or full fails here, but serves reads.
   *
   * @returns whether it has succeeded
   * @throws StartupError if changes must be recorded, and the database cannot
   */
  async begin(): Promise<boolean> {
    const { columns, logger } = this.options;
    const changes = `changes of ${columns().tableName}`;
    try {
      this.known = await this.findRecords();
      if (this.isPending) logger.info(`${changes} are accepted again`);
      this.isPending = false;
    } catch (error) {
      if (error instanceof StartupError || !isOutage(error)) throw error;
      const reason = describeFailure(error);
      if (!this.isPending) logger.error({ reason }, `${changes} are refused for now`);
      this.isPending = true;
    }
    return !this.isPending;
  }

  private async findRecords(): Promise<RecordStatements | undefined> {
    const { columns, changes, isWanted, logger, statements } = this.options;
    if (isWanted === false) return undefined;
    const table = columns().tableName;
    if (statements.isDistributed) {
      const reason =
        'the database is distributed with Citus, where changes of several shards have no order';
      if (isWanted === true) throw new StartupError(`CHANGES_ENABLED must not be true: ${reason}`);
      logger.warn({ reason }, `changes of ${table} are not recorded`);
      return undefined;
    }
    const reasons = await findObstacles(statements, columns(), changes());
    if (reasons.length > 0) {
      throw new StartupError(
        reasons.map((reason) => `changes of ${table} cannot be recorded: ${reason}`).join('\n'),
      );
    }
    await warnWithoutIncarnations(statements, table, changes(), logger);
    return new RecordStatements(columns(), changes());
  }

  /**
   * Reads a page.
   *
   * @param id only changes of this id
   * @throws ServiceException `no-such-path` if changes are not recorded, `changes-pruned`, `position-unknown`,
   *   `too-many-lists`
   */
  async list<Query extends PageParameters<bigint>>(query: Query, id?: Key): Promise<Page<Query>> {
    const { after, isFirst, lowWatermark: until } = await this.startOf(query.after);
    if (after >= until) return new Page([], undefined, query);
    const { changes, isWhole } = await this.options.slots.run(() =>
      this.read({ after, isFirst, until, id, limit: query.limit, maxBytes: MAX_PAGE_BYTES }),
    );
    return new Page(
      changes.map(({ json }) => json),
      isWhole ? undefined : changes.at(-1)?.position,
      query,
    );
  }

  /**
   * Where a reader starts, and how far it can read.
   *
   * @param after `undefined`: at the oldest record that is left
   * @throws ServiceException `no-such-path` if changes are not recorded, `changes-pruned`, `position-unknown`,
   *   `too-many-lists`
   */
  async startOf(after: bigint | undefined): Promise<Start> {
    const isRecorded = this.isPending ? this.options.isWanted !== false : this.known !== undefined;
    if (!isRecorded) throw new ServiceException(ERRORS.noSuchPath);
    const state = await this.sharedState();
    if (after === undefined) return { ...state, after: state.prunedTo, isFirst: true };
    // A read-only server that has just taken over may lack positions that the former one has given.
    if (after > state.newest) await this.requireKnownServer();
    const isOther = incarnationOf(after) !== incarnationOf(state.newest);
    if (after > state.newest && after <= MAX_POSITION && isOther) throw foreign(after);
    if (after < 0n || after > state.newest) {
      throw new ServiceException(
        ERRORS.positionUnknown,
        `there is no position ${after}: the newest is ${state.newest}`,
      );
    }
    if (after < state.prunedTo) throw pruned(state);
    // The low watermark is a position of this server, so a reader that has read everything needs no check.
    if (after < state.jumpedTo && after !== state.lowWatermark) {
      await this.requireOwn(after);
    }
    return { ...state, after, isFirst: false };
  }

  /**
   * Rejects a position of an incarnation that this server does not have: it may have changes with lower positions that the
   * server of the incarnation lacked, so the reader has never got them. Without any lower one, the reader gets all.
   *
   * @param after a position before the incarnation of this server
   * @throws ServiceException `changes-pruned`
   */
  private async requireOwn(after: bigint): Promise<void> {
    const nearest = await this.nearestRecords.before(after);
    if (nearest !== 0n && incarnationOf(nearest) !== incarnationOf(after)) throw foreign(after);
  }

  /** @throws ServiceException `database-unavailable` if the server is another one, and could not note it yet */
  private async requireKnownServer(): Promise<void> {
    const { statements, changes } = this.options;
    const begin = escapeIdentifier(`begin_${changes().tableName}`);
    await statements.rows({ text: `SELECT ${begin}()`, values: [] });
  }

  /** All callers share a reading that begins after their calls: thousands of followers can come at once. */
  private sharedState(): Promise<FeedState> {
    this.nextState ??= this.reading.then(() => {
      this.nextState = undefined;
      const state = this.options.slots.run(() => this.state());
      this.reading = Promise.allSettled([state]);
      return state;
    });
    return this.nextState;
  }

  /** @throws ServiceException as after any failure of the database */
  async state(): Promise<FeedState> {
    const { statements, changes } = this.options;
    const name = escapeIdentifier(`${changes().tableName}_horizon`);
    const [row] = await statements.rows<[string, string, string, string, boolean]>({
      ...prepared(`SELECT horizon, newest, pruned_to, jumped_to, is_held FROM ${name}()`),
      values: [],
    });
    const [lowWatermark, newest, prunedTo, jumpedTo, isHeld] = row!;
    return {
      lowWatermark: BigInt(lowWatermark),
      newest: BigInt(newest),
      prunedTo: BigInt(prunedTo),
      jumpedTo: BigInt(jumpedTo),
      isHeld,
    };
  }

  /**
   * Reads records in the order of their positions.
   *
   * @throws ServiceException `changes-pruned` if records were pruned that the reader does not know
   */
  async read(query: ChangeQuery): Promise<FoundChanges> {
    const { limit, maxBytes, after, isFirst, until, id } = query;
    const { statements } = this.options;
    const filters: UsedFilter[] = [[this.reach(isFirst ? MAX_INT64 : after), until]];
    if (id !== undefined) filters.push([this.ofId(), id]);
    const page = { start: after + 1n, end: MAX_INT64, sort: BY_ID, limit, filters, maxBytes };
    let rows = await statements.rows(this.statements.short(page));
    let isWhole = rows.length <= limit;
    if (rows.some(([isLong]) => isLong)) {
      rows = await statements.rows(this.statements.bounded(page));
      isWhole = rows.length === Number(rows[0]?.[0] ?? 0);
    }
    // The statement finds nothing after a position that was pruned meanwhile.
    if (rows.length === 0 && !isFirst) {
      const state = await this.state();
      if (after < state.prunedTo) throw pruned(state);
    }
    this.writer ??= new ChangeWriter(this.options.member, this.statements.columns);
    return { changes: rows.slice(0, limit).map((row) => this.writer!.write(row)), isWhole };
  }

  /**
   * The condition that a record is within the reach of a reader, in the snapshot in which it is read.
   *
   * @param known a position that must not be below the last one that was pruned
   */
  private reach(known: bigint): Filter<unknown> {
    const { tableName, key } = this.options.changes();
    const prunedTo = escapeIdentifier(`${tableName}_pruned_to`);
    return {
      where: (until, parameter) =>
        `${key.name} <= ${parameter(String(until))} AND ${parameter(String(known))} >= (SELECT ${prunedTo}())`,
    };
  }

  private ofId(): Filter<unknown> {
    const changes = this.options.changes();
    const [id, position] = [changes.column('id').name, changes.key.name];
    return {
      where: (value, parameter, start) =>
        `${id} = ${parameter(String(value))} AND ${position} >= ${parameter(start)}`,
      indexPrefix: id,
    };
  }

  /** Known when the database is connected. */
  private get statements(): PageStatements {
    const table = this.options.changes();
    const columns = () => ChangeWriter.columns(table, this.options);
    return (this.sql ??= new PageStatements(table, columns(), 'change'));
  }
}

function pruned({ prunedTo }: FeedState): ServiceException {
  return new ServiceException(
    ERRORS.changesPruned,
    `changes up to position ${prunedTo} are no longer kept`,
  );
}

function foreign(position: bigint): ServiceException {
  return new ServiceException(
    ERRORS.changesPruned,
    `position ${position} is of another server, which may have lacked changes of this one: copy everything again`,
  );
}
