import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleInit, Type } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import { ConnectionShares } from '../database/connection-shares.js';
import type { DeclaredConstraint } from '../database/migrations/schema-check.js';
import { Slots } from '../database/slots.js';
import { Statements } from '../database/statements.js';
import { Transactions } from '../database/transactions.js';
import { ERRORS } from '../errors/common-errors.js';
import type { PageParameters } from '../http/answers/page.js';
import { LOGGER } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import { Changes } from './changes.js';
import type { Content } from './dto-of.js';
import type { ConstraintErrors } from './constraints.js';
import { contentOf, EntityColumns, requireSameOptions } from './entity-columns.js';
import type { Identified, IdFailure } from './entity-columns.js';
import { Exports } from './exports.js';
import { GroupCreate } from './group-create.js';
import { GroupLookup } from './group-lookup.js';
import { Imports } from './imports.js';
import { Pages } from './pages.js';
import type { Filters } from './pages.js';

/** Most imports that run at once. */
const MAX_IMPORTS = 8;

/** Most exports that are open at once. Each has up to three pages in memory: in work, in its stream and in its socket. */
const MAX_EXPORTS = 32;

/** Most long rows that are looked up at once. */
const LONG_ROWS = 2;

export interface ResourceOptions<Dto, Query> {
  /** The name of the resource in metrics, such as `plants`. */
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
  readonly changes: Changes<Entity>;
  readonly pages: Pages<Query>;
  readonly imports: Imports<Dto>;
  readonly exports: Exports<Query>;
  /** Copies the members of a DTO, by default of the class with all members, and leaves out null. */
  represent<Other = Dto>(entity: Entity | Dto, dto?: Type<Other>): Other;
}

/** Makes the parts of which resources consist. */
@Injectable()
export class Resources implements OnModuleInit {
  private readonly constraints: DeclaredConstraint[] = [];
  private readonly importSlots = new Slots(MAX_IMPORTS, ERRORS.tooManyImports);
  private readonly exportSlots = new Slots(MAX_EXPORTS, ERRORS.tooManyExports);
  private readonly checks: (() => void)[] = [];
  private readonly longSlots = new Slots(LONG_ROWS, ERRORS.tooManyAnswers);

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly statements: Statements,
    private readonly shares: ConnectionShares,
    private readonly transactions: Transactions,
    private readonly metrics: Metrics,
    @Inject(TRACER) private readonly tracer: Tracer,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** @throws TypeError if a DTO does not fit the columns of its entity */
  onModuleInit(): void {
    // Tests of the parts above may have no database.
    if (this.dataSource.isInitialized) for (const check of this.checks) check();
  }

  /** The names in `constraints` of all resources, which the start looks for in the database. */
  get declaredConstraints(): readonly DeclaredConstraint[] {
    return this.constraints;
  }

  /** To be called in the constructor of the service of the resource. */
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
      onCreated = () => {},
    }: ResourceOptions<Content<Entity> & Identified, Query>,
  ): Resource<Entity, Content<Entity> & Identified, Query> {
    const { dataSource, statements, shares, transactions, metrics, tracer, logger } = this;
    let known: EntityColumns | undefined;
    const columns = () => (known ??= new EntityColumns(dataSource, entity));
    this.constraints.push(
      ...Object.keys(constraints).map((key) => ({ entity: entity.name, name: key })),
    );
    this.checks.push(() => requireSameOptions(columns(), dto));
    const base = { columns, constraints, statements, shares, metrics, tracer, dataSource };
    const creates = new GroupCreate({ ...base, resource: name, idTaken, onCreated });
    const pages = new Pages<Query>({ ...base, dto, filters });
    return {
      creates,
      pages,
      represent: <Other>(row: object, dtoClass?: Type<Other>) =>
        contentOf(columns().of(dtoClass ?? dto), row) as Other,
      lookups: new GroupLookup<Entity>({ ...base, notFound, slots: this.longSlots }),
      changes: new Changes({ ...base, entity, dto, notFound, transactions }),
      imports: new Imports({ dto: imported, creates, tracer, logger, slots: this.importSlots }),
      exports: new Exports({ pages, shares, tracer, slots: this.exportSlots }),
    };
  }
}
