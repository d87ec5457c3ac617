import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleDestroy, OnModuleInit, Type } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { escapeIdentifier } from 'pg';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { Bulkheads } from '../database/bulkheads.js';
import { Semaphore } from '../database/semaphore.js';
import { Statements } from '../database/statements.js';
import { Transactions } from '../database/transactions.js';
import { ERRORS } from '../errors/common-errors.js';
import { StartupError } from '../errors/startup.error.js';
import type { PageParameters } from '../http/answers/page.js';
import { describeFailure } from '../observability/describe-failure.js';
import { LOGGER } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { Shutdown } from '../observability/shutdown.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import { Updates } from './updates.js';
import type { Content } from './dto-of.js';
import { contentOf, EntityColumns } from './entity-columns.js';
import type { Identified } from './entity-columns.js';
import { indexedColumns } from './constraints.js';
import { Exports } from './exports.js';
import { GeneratedCreate } from './generated-ids/generated-create.js';
import { GroupCreate } from './group-create.js';
import { GroupLookup } from './group-lookup.js';
import { Feed } from './history/feed.js';
import { Followers } from './history/followers.js';
import { History } from './history/history.js';
import type { Idempotency } from './idempotency/idempotency.js';
import type { Keyed } from './key-type.js';
import { ResourceMetrics } from './resource-metrics.js';
import { Imports } from './imports.js';
import { Pages } from './pages.js';
import { prune } from './prune.js';
import { ReadBack } from './read-back.js';
import {
  missingSortIndexes,
  requireExactIntegers,
  requireKeyOf,
  requireMembers,
  requireSameOptions,
} from './resource-checks.js';
import type {
  BaseResource,
  GeneratedResource,
  GeneratedResourceOptions,
  Resource,
  ResourceOptions,
} from './resource.js';
import { RowSlots } from './row-slots.js';
import { checkLetters, SearchIndex } from './search-index.js';

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

/** Other members of a change, and parameters of a page of changes, where the name of the content is the id of a row. */
const NOT_CONTENT = new Set('position time kind id principal requestId limit after'.split(' '));

/** Makes the parts of which resources consist. */
@Injectable()
export class Resources implements OnModuleInit, OnModuleDestroy {
  private readonly metrics: ResourceMetrics;
  private readonly statements: Statements;
  private readonly importSlots = new Semaphore(MAX_IMPORTS, ERRORS.tooManyImports);
  private readonly exportSlots = new Semaphore(MAX_EXPORTS, ERRORS.tooManyExports);
  private readonly checks: (() => void)[] = [];
  private readonly indexChecks: (() => Promise<readonly string[]>)[] = [];
  private readonly histories: History[] = [];
  private readonly searchIndexes: SearchIndex[] = [];
  private readonly closing = new AbortController();
  private readonly followerSlots = new Semaphore(MAX_FOLLOWERS, ERRORS.tooManyFollowers);
  private readonly longSlots = new Semaphore(LONG_ROWS, ERRORS.tooManyAnswers);

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly bulkheads: Bulkheads,
    private readonly transactions: Transactions,
    metrics: Metrics,
    @Inject(TRACER) private readonly tracer: Tracer,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(CONFIG) private readonly config: Config,
    private readonly shutdown: Shutdown,
    private readonly rowSlots: RowSlots,
  ) {
    this.metrics = new ResourceMetrics(metrics);
    this.statements = new Statements(dataSource);
  }

  /**
   * @throws TypeError if a DTO does not fit the columns of its entity
   * @throws StartupError if lists can be sorted by a column without an index, or changes must be recorded, and the database
   *   cannot
   */
  async onModuleInit(): Promise<void> {
    // Tests of the parts above may have no database.
    if (!this.dataSource.isInitialized) return;
    for (const check of this.checks) check();
    const missing = await Promise.all(this.indexChecks.map((check) => check()));
    if (missing.flat().length > 0) throw new StartupError(missing.flat().join('\n'));
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
    const statement = {
      text: `SELECT ${escapeIdentifier(`prune_${table}`)}(now() - make_interval(secs => $1), $2)`,
      values: [retention / 1_000],
    };
    const rows = 'changes';
    void prune({ table, rows, statement, statements, logger, onPruned }, this.closing.signal);
  }

  async onModuleDestroy(): Promise<void> {
    this.closing.abort();
    for (const index of this.searchIndexes) await index.close();
  }

  private historyOf<Entity extends Keyed>(
    entity: Type<Entity>,
    {
      record,
      member,
    }: NonNullable<GeneratedResourceOptions<Entity, Entity, PageParameters>['changes']>,
    dto: Type,
  ): History {
    const { dataSource, statements, bulkheads, logger } = this;
    if (NOT_CONTENT.has(member)) {
      throw new TypeError(
        `a change of ${entity.name} has "${member}" already: name its content otherwise`,
      );
    }
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

  /**
   * A resource whose clients choose the id. To be called in the constructor of its repository.
   */
  of<Entity extends Identified, Query extends PageParameters<Entity['id']>>(
    entity: Type<Entity>,
    options: ResourceOptions<Entity, Content<Entity> & Identified, Query>,
  ): Resource<Entity, Content<Entity> & Identified, Query> {
    const { bulkheads, metrics, tracer, logger, importSlots } = this;
    const { name, dto, imported = dto, idTaken } = options;
    const { resource, parts, onCreated } = this.base(entity, options, false);
    const creates = new GroupCreate<Content<Entity> & Identified>({
      ...parts,
      recordGroup: metrics.groupsOf(name),
      idTaken,
      onCreated,
      locked: this.rowSlots.locked,
      lockedSlots: bulkheads.locked,
    });
    metrics.observeQueue(name, creates);
    const imports = new Imports({
      dto: imported as typeof dto,
      creates,
      tracer,
      logger,
      slots: importSlots,
    });
    return { ...resource, creates, readBack: new ReadBack(parts), imports };
  }

  /** A resource whose ids the database makes. To be called in the constructor of its repository. */
  generated<Entity extends Keyed, Query extends PageParameters<Entity['id']>>(
    entity: Type<Entity>,
    options: GeneratedResourceOptions<Entity, Content<Entity> & Keyed, Query>,
    idempotency: Idempotency,
  ): GeneratedResource<Entity, Content<Entity> & Keyed, Query> {
    const { resource, parts, onCreated } = this.base(entity, options, true);
    const { rowSlots, logger } = this;
    const creates = new GeneratedCreate({
      ...parts,
      dto: options.dto,
      rowSlots,
      idempotency,
      logger,
      onCreated,
    });
    return { ...resource, creates };
  }

  private base<Entity extends Keyed, Dto extends Keyed, Query extends PageParameters<Entity['id']>>(
    entity: Type<Entity>,
    options: GeneratedResourceOptions<Entity, Dto, Query>,
    isGenerated: boolean,
  ) {
    const { name, dto, filters, notFound, constraints = {}, changes, search } = options;
    const { dataSource, statements, bulkheads, transactions, tracer, logger, rowSlots } = this;
    let known: EntityColumns | undefined;
    const columns = () => (known ??= new EntityColumns(dataSource, entity));
    this.checks.push(() => {
      requireMembers(columns(), entity, dto);
      requireSameOptions(columns(), dto);
      requireKeyOf(columns(), isGenerated);
      requireExactIntegers(columns(), entity, dto);
    });
    let indexed: ReadonlySet<string> = new Set();
    this.indexChecks.push(async () => {
      indexed = await indexedColumns(statements, columns());
      return missingSortIndexes(dataSource, columns(), entity);
    });
    const history = changes && this.historyOf(entity, changes, dto);
    const errors = { columns, constraints, indexed: () => indexed };
    const parts = { ...errors, statements, bulkheads, tracer, dataSource, history };
    const searchIndex = search && new SearchIndex(search, dataSource, logger);
    if (searchIndex !== undefined) this.searchIndexes.push(searchIndex);
    const pages = new Pages<Query>({ ...parts, dto, filters });
    const resource: BaseResource<Entity, Dto, Query> = {
      pages,
      represent: <Other>(row: object, dtoClass?: Type<Other>) =>
        contentOf(columns().of(dtoClass ?? dto), row) as Other,
      lookups: new GroupLookup<Entity>({ ...parts, notFound, slots: this.longSlots }),
      updates: new Updates({
        ...parts,
        entity,
        dto,
        notFound,
        transactions,
        rowSlots,
        onChanged: (row) => searchIndex?.note([row]),
      }),
      feed: history && this.feedOf(name, history),
      exports: new Exports({ pages, bulkheads, tracer, slots: this.exportSlots }),
    };
    const onCreated = (created: readonly Dto[]): void => {
      searchIndex?.note(created);
      options.onCreated?.(created);
    };
    return { resource, parts, onCreated };
  }
}
