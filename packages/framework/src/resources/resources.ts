import { Inject, Injectable, Optional } from '@nestjs/common';
import type { OnModuleDestroy, OnModuleInit, Type } from '@nestjs/common';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { Bulkheads } from '../database/bulkheads.js';
import { Semaphore } from '../database/semaphore.js';
import { Statements } from '../database/statements.js';
import { Transactions } from '../database/transactions.js';
import { ERRORS } from '../errors/common-errors.js';
import { requireNone } from '../errors/startup.error.js';
import type { PageParameters } from '../http/responses/page.js';
import { LOGGER } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { ServedRequests } from '../observability/served-requests.js';
import { Shutdown } from '../observability/shutdown.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import type { ChangeRecorder } from './recording/change-recorder.js';
import { Updates } from './updates/updates.js';
import type { Content } from './properties/dto-of.js';
import { contentOf, EntityColumns } from './properties/entity-columns.js';
import type { Identified } from './properties/entity-columns.js';
import { indexedColumns, unknownConstraints } from './properties/constraints.js';
import { Exports } from './transfers/exports.js';
import { GeneratedCreate } from './generated-ids/generated-create.js';
import { GroupCreate } from './creates/group-create.js';
import { GroupLookup } from './reads/group-lookup.js';
import type { Idempotency } from './idempotency/idempotency.js';
import type { Keyed } from './properties/key-type.js';
import { ResourceMetrics } from './resource-metrics.js';
import { Imports } from './transfers/imports.js';
import { Expander } from './reads/expander.js';
import type { RelatedResource } from './reads/expander.js';
import { Pages } from './reads/pages.js';
import { ReadBack } from './creates/read-back.js';
import { missingSortIndexes } from './reads/sort-indexes.js';
import { resourceMistakes, sharedNames, sharedTables } from './resource-checks.js';
import type { Declared } from './resource-checks.js';
import type {
  BaseResource,
  GeneratedResource,
  GeneratedResourceOptions,
  Resource,
  ResourceOptions,
} from './resource.js';
import { RowSlots } from './locks/row-slots.js';
import { IndexPaths } from './reads/index-paths.js';
import { Visibility } from './reads/visibility.js';
import { checkLetters, SearchIndex } from './reads/search-index.js';

export const MAX_IMPORTS = 8;

/** Each export has up to three pages in memory: in work, in its stream and in its socket. */
export const MAX_EXPORTS = 32;

export const LONG_ROWS = 2;

const UNKNOWN_CONSTRAINTS =
  'the database seems to have no constraint of these names, so their errors never occur';

/** What all repositories share. Nest injects it into them. */
@Injectable()
export class Resources implements OnModuleInit, OnModuleDestroy {
  private readonly figures: ResourceMetrics;
  private readonly statements: Statements;
  private readonly importSlots = new Semaphore(MAX_IMPORTS, ERRORS.tooManyImports);
  private readonly exportSlots = new Semaphore(MAX_EXPORTS, ERRORS.tooManyExports);
  private readonly declared: (Declared & RelatedResource & { readonly name: string })[] = [];
  private readonly indexChecks: (() => Promise<readonly string[]>)[] = [];
  private readonly recorders: ChangeRecorder[] = [];
  private readonly searchIndexes: SearchIndex[] = [];
  private readonly closing = new AbortController();
  private readonly longSlots = new Semaphore(LONG_ROWS, ERRORS.tooManyAnswers);

  constructor(
    private readonly dataSource: DataSource,
    private readonly bulkheads: Bulkheads,
    private readonly transactions: Transactions,
    private readonly metrics: Metrics,
    @Inject(TRACER) private readonly tracer: Tracer,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(CONFIG) private readonly config: Config,
    private readonly shutdown: Shutdown,
    private readonly rowSlots: RowSlots,
    @Optional() private readonly requests = new ServedRequests(),
  ) {
    this.figures = new ResourceMetrics(metrics);
    this.statements = new Statements(dataSource);
  }

  /** A line for each mistake in the classes of all resources, once the entities have metadata. */
  get mistakes(): readonly string[] {
    const { dataSource, declared } = this;
    return [
      ...sharedTables(dataSource),
      ...sharedNames(declared),
      ...declared.flatMap((each) => resourceMistakes(dataSource, each, declared)),
    ];
  }

  /** @throws StartupError for mistakes, if lists can be sorted by a column without an index, or if a recorder cannot start */
  async onModuleInit(): Promise<void> {
    // Tests may have no database.
    if (!this.dataSource.isInitialized) return;
    requireNone(this.mistakes);
    const missing = await Promise.all(this.indexChecks.map((check) => check()));
    requireNone(missing.flat());
    if (this.searchIndexes.length > 0) await checkLetters(this.dataSource, this.logger);
    for (const recorder of this.recorders) await recorder.start(this.closing.signal);
  }

  async onModuleDestroy(): Promise<void> {
    this.closing.abort();
    for (const index of this.searchIndexes) await index.close();
  }

  of<Entity extends Identified, Query extends PageParameters<Entity['id']>, Changes = unknown>(
    entity: Type<Entity>,
    options: ResourceOptions<Entity, Content<Entity> & Identified, Query, Changes>,
  ): Resource<Entity, Content<Entity> & Identified, Query, Changes> {
    const { bulkheads, figures, tracer, logger, importSlots } = this;
    const { name, dto, imported = dto, idTaken } = options;
    const isTaken = this.declared.some((other) => other.name === name);
    const { resource, parts, onCreated } = this.base(entity, options, false);
    const creates = new GroupCreate<Content<Entity> & Identified>({
      ...parts,
      recordGroup: figures.groupsOf(name),
      idTaken,
      onCreated: (created) => this.requests.forNone(() => onCreated(created)),
      locked: this.rowSlots.locked,
      lockedSlots: bulkheads.locked,
    });
    // Otherwise, the start names both.
    if (!isTaken) figures.observeQueue(name, creates);
    const imports = new Imports({
      dto: imported as typeof dto,
      creates,
      tracer,
      logger,
      slots: importSlots,
    });
    return { ...resource, creates, readBack: new ReadBack(parts), imports };
  }

  generated<Entity extends Keyed, Query extends PageParameters<Entity['id']>, Changes = unknown>(
    entity: Type<Entity>,
    options: GeneratedResourceOptions<Entity, Content<Entity> & Keyed, Query, Changes>,
    idempotency: Idempotency | undefined,
  ): GeneratedResource<Entity, Content<Entity> & Keyed, Query, Changes> {
    const { resource, parts, onCreated } = this.base(entity, options, true);
    const creates = new GeneratedCreate({ ...parts, dto: options.dto, idempotency, onCreated });
    return { ...resource, creates };
  }

  private base<
    Entity extends Keyed,
    Dto extends Keyed,
    Query extends PageParameters<Entity['id']>,
    Changes,
  >(
    entity: Type<Entity>,
    options: GeneratedResourceOptions<Entity, Dto, Query, Changes>,
    isGenerated: boolean,
  ) {
    const { name, dto, filters, expansions = {}, notFound, constraints = {} } = options;
    const { changes, search, visible } = options;
    const { dataSource, statements, bulkheads, transactions, tracer, logger, rowSlots } = this;
    let known: EntityColumns | undefined;
    const columns = () => (known ??= new EntityColumns(dataSource, entity));
    const visibility = new Visibility(columns, visible);
    const declared = { name, entity, dto, isGenerated, filters, expansions, search };
    this.declared.push({ ...declared, columns, visibility });
    let indexed: ReadonlySet<string> = new Set();
    let paths = IndexPaths.none;
    this.indexChecks.push(async () => {
      indexed = await indexedColumns(statements, columns());
      paths = await IndexPaths.of(statements, columns());
      const unknown = await unknownConstraints(statements, constraints);
      if (unknown.length > 0) logger.warn({ resource: name, unknown }, UNKNOWN_CONSTRAINTS);
      return missingSortIndexes(dataSource, columns(), entity);
    });
    const recorder = changes?.({
      name,
      entity,
      dto,
      dataSource,
      columns,
      statements,
      bulkheads,
      metrics: this.metrics,
      config: this.config,
      logger,
      shutdown: this.shutdown.signal,
    });
    if (recorder !== undefined) this.recorders.push(recorder);
    const errors = { columns, constraints, indexed: () => indexed };
    const parts = {
      ...errors,
      statements,
      bulkheads,
      transactions,
      rowSlots,
      tracer,
      logger,
      recorder,
    };
    const searchIndex = search && new SearchIndex(search, dataSource, logger);
    if (searchIndex !== undefined) this.searchIndexes.push(searchIndex);
    const resourceOf = (related: Type) => this.declared.find((each) => each.dto === related)!;
    const expander = new Expander({ statements, bulkheads, expansions, resourceOf });
    const pages = new Pages<Query>({
      ...parts,
      dto,
      filters,
      visibility,
      expander,
      paths: () => paths,
    });
    const resource: BaseResource<Entity, Dto, Query, Changes> = {
      pages,
      complete: (content) => columns().complete(content),
      represent: <Other>(row: object, dtoClass?: Type<Other>) =>
        contentOf(columns().of(dtoClass ?? dto), row) as Other,
      lookups: new GroupLookup<Entity>({ ...parts, notFound, visibility, slots: this.longSlots }),
      updates: new Updates({
        ...parts,
        dto,
        notFound,
        visibility,
        onChanged: (row) => searchIndex?.note([row]),
      }),
      recorder,
      visibility,
      exports: new Exports({ pages, bulkheads, tracer, slots: this.exportSlots }),
    };
    const onCreated = (created: readonly Dto[]): void => {
      searchIndex?.note(created);
      options.onCreated?.(created);
    };
    return { resource, parts, onCreated };
  }
}
