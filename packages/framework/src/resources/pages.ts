import type { Type } from '@nestjs/common';
import { Batcher } from '../database/batcher.js';
import type { Bulkheads } from '../database/bulkheads.js';
import type { Semaphore } from '../database/semaphore.js';
import type { Statements } from '../database/statements.js';
import { ERRORS } from '../errors/common-errors.js';
import { ServiceException } from '../errors/service.exception.js';
import { Page } from '../http/answers/page.js';
import type { PageParameters } from '../http/answers/page.js';
import type { Tracer } from '../observability/tracer.js';
import { rowToJson } from './entity-columns.js';
import type { EntityColumns } from './entity-columns.js';
import type { Key } from './key-type.js';
import { MAX_PAGES, PageStatements } from './page-statement.js';
import type { Filter, PageQuery, UsedFilter } from './page-statement.js';

/** Sizes of pages that are read in groups: the default, and the next that callers ask for. */
const SIZES: readonly number[] = [50, 100];

/** Most bytes of a page, unless its first item has more. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** A database that reads the first row in so many milliseconds is not to blame for a slow search. */
const RESPONSIVE = 250;

const TOO_SLOW =
  'the search takes too long: search for a longer or rarer text, or use another filter as well';

/** A filter for each parameter of a query besides `limit` and `after`. */
export type Filters<Query> = {
  readonly [Name in Exclude<keyof Query, keyof PageParameters>]-?: Filter<NonNullable<Query[Name]>>;
};

/** Who asks for a page. */
export interface Reader {
  readonly slots: Semaphore;
  readonly maxBytes: number;
}

export interface PagesOptions<Query> {
  /** Known when the database is connected. */
  readonly columns: () => EntityColumns;
  /** The class of an item. It has the id. */
  readonly dto: Type;
  readonly filters: Filters<Query>;
  readonly statements: Statements;
  readonly bulkheads: Bulkheads;
  readonly tracer: Tracer;
}

type Row = readonly unknown[];

interface FoundRows {
  /** In ascending order of id. The columns begin at the second position. */
  readonly rows: readonly Row[];
  /** Whether these are all rows that match. */
  readonly isWhole: boolean;
}

/** Lists rows of an entity in ascending order of id, page by page. No page is larger than a number of bytes. */
export class Pages<Query extends PageParameters> {
  private readonly groups: ReadonlyMap<number, Batcher<Key, readonly Row[]>>;
  private sql: PageStatements | undefined;

  constructor(private readonly options: PagesOptions<Query>) {
    const { bulkheads, tracer } = options;
    this.groups = new Map(
      SIZES.map((limit) => [
        limit,
        new Batcher({
          lengthOf: () => 0,
          maxRows: MAX_PAGES,
          perform: (starts) => bulkheads.lists.run(() => this.readGroup(starts, limit)),
          tracer,
        }),
      ]),
    );
  }

  /**
   * Reads a page. It can be shorter than `limit` and not be the last.
   *
   * @throws ServiceException `too-many-lists`, or `too-many-searches` with a filter that searches; `search-too-slow`
   */
  async list(
    parameters: Query,
    { slots, maxBytes }: Reader = { slots: this.options.bulkheads.lists, maxBytes: MAX_PAGE_BYTES },
  ): Promise<Page<Query>> {
    const { limit, after } = parameters;
    const { keyType } = this.options.columns();
    if (after === keyType.greatest) return new Page([], undefined, parameters);
    const filters = this.usedFilters(parameters);
    const start = after === undefined ? keyType.least : keyType.after(after);
    const query = { start, limit, filters, maxBytes };
    const found = filters.some(([{ isSearch }]) => isSearch)
      ? await this.options.bulkheads.searches.run(() => this.search(query))
      : await this.findWithoutSearch(query, slots);
    return this.pageOf(found, parameters, maxBytes);
  }

  private usedFilters(parameters: Query): readonly UsedFilter[] {
    const filters = Object.entries(this.options.filters) as [keyof Query, Filter<unknown>][];
    return filters
      .map(([name, filter]) => [filter, parameters[name]] as const)
      .filter(([, value]) => value !== undefined);
  }

  private pageOf({ rows, isWhole }: FoundRows, parameters: Query, maxBytes: number): Page<Query> {
    const { statements } = this;
    const items: string[] = [];
    let length = 0;
    for (const row of rows) {
      // JSON has up to six characters for a byte of text.
      if (length > maxBytes) break;
      const item = rowToJson(statements.columns, row);
      length += item.length;
      items.push(item);
    }
    const isLast = isWhole && items.length === rows.length;
    const last = rows[items.length - 1];
    const next = isLast || last === undefined ? undefined : statements.idOf(last);
    return new Page(items, next, parameters);
  }

  private async findWithoutSearch(query: PageQuery, slots: Semaphore): Promise<FoundRows> {
    const { start, limit, filters } = query;
    const group = filters.length === 0 ? this.groups.get(limit) : undefined;
    // Citus does not join a distributed table in this way.
    if (group === undefined || this.options.statements.isDistributed) {
      return slots.run(() => this.find(query));
    }
    const page = shortPage(await group.add(start), limit);
    // It is known to have long rows: to look again would keep a slot from others for twice as long.
    return page ?? slots.run(() => this.findBounded(query));
  }

  private async readGroup(
    starts: readonly Key[],
    limit: number,
  ): Promise<readonly (readonly Row[])[]> {
    const pages: Row[][] = starts.map(() => []);
    const rows = await this.options.statements.rows<Row>(this.statements.group(starts, limit));
    for (const row of rows) pages[Number(row.at(-1)) - 1]!.push(row);
    return pages;
  }

  /** Returns the first rows that match: at most `limit`, and at least one if there is any. */
  private async find(query: PageQuery): Promise<FoundRows> {
    const { statements } = this.options;
    const page = shortPage(await statements.rows(this.statements.short(query)), query.limit);
    return page ?? this.findBounded(query);
  }

  private async findBounded(query: PageQuery): Promise<FoundRows> {
    const rows = await this.options.statements.rows(this.statements.bounded(query));
    return { rows, isWhole: rows.length === Number(rows[0]?.[0] ?? 0) };
  }

  private async search(query: PageQuery): Promise<FoundRows> {
    try {
      return await this.find(query);
    } catch (error) {
      const isTooSlow = error instanceof ServiceException && error.kind === ERRORS.databaseTooSlow;
      if (isTooSlow && (await this.isResponsive())) {
        throw new ServiceException(ERRORS.searchTooSlow, TOO_SLOW);
      }
      throw error;
    }
  }

  private async isResponsive(): Promise<boolean> {
    const begin = performance.now();
    const start = this.options.columns().keyType.least;
    await this.find({ start, limit: 1, filters: [], maxBytes: 1 });
    return performance.now() - begin < RESPONSIVE;
  }

  /** Known when the database is connected. */
  private get statements(): PageStatements {
    const { columns, dto } = this.options;
    return (this.sql ??= new PageStatements(columns(), columns().of(dto), dto.name));
  }
}

/** The rows of a short page; `undefined` if one of them is long, as its first value tells. */
function shortPage(rows: readonly Row[], limit: number): FoundRows | undefined {
  if (rows.some(([isLong]) => isLong)) return undefined;
  return { rows: rows.slice(0, limit), isWhole: rows.length <= limit };
}
