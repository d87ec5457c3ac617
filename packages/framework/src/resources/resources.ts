import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleDestroy, OnModuleInit, Type } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { Bulkheads } from '../database/bulkheads.js';
import { Semaphore } from '../database/semaphore.js';
import { Statements } from '../database/statements.js';
import { Transactions } from '../database/transactions.js';
import { ERRORS } from '../errors/common-errors.js';
import type { PageParameters } from '../http/answers/page.js';
import { describeFailure } from '../observability/describe-failure.js';
import { LOGGER } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { Shutdown } from '../observability/shutdown.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import { Updates } from './updates.js';
import type { Content } from './dto-of.js';
import type { ConstraintErrors } from './constraints.js';
import { contentOf, EntityColumns, requireSameOptions } from './entity-columns.js';
import type { Identified, IdFailure } from './entity-columns.js';
import { Exports } from './exports.js';
import { GroupCreate } from './group-create.js';
import { GroupLookup } from './group-lookup.js';
import type { Change } from './history/change-of.js';
import { Feed } from './history/feed.js';
import { Followers } from './history/followers.js';
import { History } from './history/history.js';
import { prune } from './history/prune.js';
import { ResourceMetrics } from './resource-metrics.js';
import { Imports } from './imports.js';
import { LockedRows } from './locked-rows.js';
import { Pages } from './pages.js';
import { checkLetters, SearchIndex } from './search-index.js';
import type { Search } from './search-index.js';
import type { Filters } from './pages.js';

/** Between two attempts to begin a history, in milliseconds. */
const RETRY = 1_000;

/** Most imports that run at once. */
const MAX_IMPORTS = 8;

/** Most exports that are open at once. Each has up to three pages in memory: in work, in its stream and in its socket. */
const MAX_EXPORTS = 32;

/** Most clients that follow changes at once. */
const MAX_FOLLOWERS = 2_000;

/** Most long rows that are looked up at once. */
const LONG_ROWS = 2;

export interface ResourceOptions<Dto, Query> {
  /** The name of the resource in metrics, such as `tools`. */
  readonly name: string;
  /** The class with all members, including the id. */
  readonly dto: Type<Dto>;
  /** The class of a line of an import, by default `dto`. It must lack the members that the database fills. */
  readonly imported?: Type<Dto>;
  readonly filters: Filters<Query>;
  /** When the id of a create belongs to a row with other content. */
  readonly idTaken: IdFailure;
  /** When there is no row with the id of a look-up or change. */
  readonly notFound: IdFailure;
  /** Failures of creates and changes. */
  readonly constraints?: ConstraintErrors;
  /** The records of creates, updates and removals, if there are any. */
  readonly changes?: {
    /** An entity that extends {@link ChangeOf} of the entity. */
    readonly record: Type<Change>;
    /** The name of the content in a change, such as `tool`. */
    readonly member: string;
  };
  /** A member that clients search in. The service cleans its index. */
  readonly search?: Search;
  /** Called with the newly created rows, after their commit. */
  readonly onCreated?: (created: readonly Dto[]) => void;
}

/** What a service needs for a resource whose clients choose the id. Each part has a page in docs/framework. */
export interface Resource<
  Entity extends Identified,
  Dto extends Identified,
  Query extends PageParameters,
> {
  readonly creates: GroupCreate<Dto>;
  readonly lookups: GroupLookup<Entity>;
  readonly updates: Updates<Entity>;
  readonly pages: Pages<Query>;
  readonly imports: Imports<Dto>;
  readonly exports: Exports<Query>;
  /** If changes are recorded. */
  readonly feed: Feed | undefined;
  /** Copies the members of a DTO, by default of the class with all members, and leaves out null. */
  represent<Other = Dto>(entity: Entity | Dto, dto?: Type<Other>): Other;
}

/** Makes the parts of which resources consist. */
@Injectable()
export class Resources implements OnModuleInit, OnModuleDestroy {
  private readonly metrics: ResourceMetrics;
  private readonly importSlots = new Semaphore(MAX_IMPORTS, ERRORS.tooManyImports);
  private readonly exportSlots = new Semaphore(MAX_EXPORTS, ERRORS.tooManyExports);
  private readonly checks: (() => void)[] = [];
  private readonly histories: History[] = [];
  private readonly searchIndexes: SearchIndex[] = [];
  private readonly closing = new AbortController();
  private readonly followerSlots = new Semaphore(MAX_FOLLOWERS, ERRORS.tooManyFollowers);
  private readonly lockedRows = new LockedRows();
  private readonly longSlots = new Semaphore(LONG_ROWS, ERRORS.tooManyAnswers);

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly statements: Statements,
    private readonly bulkheads: Bulkheads,
    private readonly transactions: Transactions,
    metrics: Metrics,
    @Inject(TRACER) private readonly tracer: Tracer,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(CONFIG) private readonly config: Config,
    private readonly shutdown: Shutdown,
  ) {
    this.metrics = new ResourceMetrics(metrics);
  }

  /**
   * @throws TypeError if a DTO does not fit the columns of its entity
   * @throws StartupError if changes must be recorded, and the database cannot
   */
  async onModuleInit(): Promise<void> {
    // Tests of the parts above may have no database.
    if (!this.dataSource.isInitialized) return;
    for (const check of this.checks) check();
    if (this.searchIndexes.length > 0) await checkLetters(this.dataSource, this.logger);
    for (const history of this.histories) {
      if (await history.begin()) this.prune(history);
      else void this.beginLater(history);
    }
  }

  /** A database that is read-only or full serves reads meanwhile. */
  private async beginLater(history: History): Promise<void> {
    const { signal } = this.closing;
    try {
      do await sleep(RETRY, undefined, { signal, ref: false });
      while (!(await history.begin()));
      this.prune(history);
    } catch (error) {
      if (signal.aborted) return;
      const reason = describeFailure(error);
      this.logger.error({ reason }, `${history.table}: changes are refused until the next start`);
    }
  }

  private prune({ table, records }: History): void {
    if (records === undefined) return;
    const { statements, logger, metrics, config } = this;
    const { retention } = config.changes;
    const onPruned = (pruned: number): void => metrics.recordPruned(table, pruned);
    void prune({ table, retention, statements, logger, onPruned }, this.closing.signal);
  }

  async onModuleDestroy(): Promise<void> {
    this.closing.abort();
    for (const index of this.searchIndexes) await index.close();
  }

  private historyOf<Entity extends Identified>(
    entity: Type<Entity>,
    { record, member }: NonNullable<ResourceOptions<Entity, PageParameters>['changes']>,
    dto: Type,
  ): History {
    const { dataSource, statements, bulkheads, logger } = this;
    let known: { readonly columns: EntityColumns; readonly changes: EntityColumns } | undefined;
    const tables = () =>
      (known ??= {
        columns: new EntityColumns(dataSource, entity),
        changes: new EntityColumns(dataSource, record, 'position'),
      });
    const history = new History({
      member,
      dto,
      columns: () => tables().columns,
      changes: () => tables().changes,
      statements,
      slots: bulkheads.lists,
      isWanted: this.config.changes.enabled,
      logger,
    });
    this.histories.push(history);
    return history;
  }

  private feedOf(resource: string, history: History): Feed {
    const { bulkheads, metrics, logger, shutdown } = this;
    const followers = new Followers({
      history,
      slots: this.followerSlots,
      reads: bulkheads.followers,
      shutdown: shutdown.signal,
      logger,
    });
    if (this.config.changes.enabled !== false) metrics.observeFollowers(resource, followers);
    return new Feed(history, followers);
  }

  /** To be called in the constructor of the repository of the resource. */
  of<Entity extends Identified, Query extends PageParameters>(
    entity: Type<Entity>,
    {
      name,
      dto,
      imported = dto,
      filters,
      idTaken,
      notFound,
      constraints = {},
      changes,
      search,
      onCreated = () => {},
    }: ResourceOptions<Content<Entity> & Identified, Query>,
  ): Resource<Entity, Content<Entity> & Identified, Query> {
    const { dataSource, statements, bulkheads, transactions, metrics, tracer, logger } = this;
    let known: EntityColumns | undefined;
    const columns = () => (known ??= new EntityColumns(dataSource, entity));
    const history = changes && this.historyOf(entity, changes, dto);
    this.checks.push(() => requireSameOptions(columns(), dto));
    const parts = { columns, constraints, statements, bulkheads, tracer, dataSource };
    const base = { ...parts, history };
    const searchIndex = search && new SearchIndex(search, dataSource, logger);
    if (searchIndex !== undefined) this.searchIndexes.push(searchIndex);
    const creates = new GroupCreate<Content<Entity> & Identified>({
      ...base,
      recordGroup: metrics.groupsOf(name),
      idTaken,
      onCreated: (created) => {
        searchIndex?.note(created);
        onCreated(created);
      },
      locked: this.lockedRows,
      lockedSlots: bulkheads.locked,
    });
    metrics.observeQueue(name, creates);
    const pages = new Pages<Query>({ ...base, dto, filters });
    return {
      creates,
      pages,
      represent: <Other>(row: object, dtoClass?: Type<Other>) =>
        contentOf(columns().of(dtoClass ?? dto), row) as Other,
      lookups: new GroupLookup<Entity>({ ...base, notFound, slots: this.longSlots }),
      updates: new Updates({
        ...base,
        entity,
        dto,
        notFound,
        transactions,
        locked: this.lockedRows,
        onChanged: (row) => searchIndex?.note([row]),
      }),
      imports: new Imports({ dto: imported, creates, tracer, logger, slots: this.importSlots }),
      feed: history && this.feedOf(name, history),
      exports: new Exports({ pages, bulkheads, tracer, slots: this.exportSlots }),
    };
  }
}
