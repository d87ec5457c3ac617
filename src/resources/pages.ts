import type { Type } from '@nestjs/common';
import { Batcher } from '../database/batcher.js';
import type { ConnectionShares } from '../database/connection-shares.js';
import type { Slots } from '../database/slots.js';
import type { Statements } from '../database/statements.js';
import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { Page } from '../http/answers/page.js';
import type { PageParameters } from '../http/answers/page.js';
import type { Tracer } from '../observability/tracer.js';
import { rowToJson } from './entity-columns.js';
import type { EntityColumn, EntityColumns } from './entity-columns.js';
import { MAX_INT64, MIN_INT64, parseInt64 } from './int64.js';
import { MAX_PAGES, PageStatements } from './page-statement.js';
import type { Filter, PageQuery } from './page-statement.js';

/** Sizes of pages that are read in groups: the default, and the next that callers ask for. */
const SIZES: readonly number[] = [50, 100];

/** Most bytes of a page, unless its first item has more. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** A database that reads the first row in so many milliseconds is not to blame for a slow search. */
const RESPONSIVE = 250;

const TOO_SLOW =
  'the search takes too long: search for a longer or rarer text, or filter by tag as well';

/** A filter for each parameter of a query besides `limit` and `after`. */
export type Filters<Query> = {
  readonly [Name in Exclude<keyof Query, keyof PageParameters>]-?: Filter<NonNullable<Query[Name]>>;
};

/** Who asks for a page. */
export interface Reader {
  readonly slots: Slots;
  readonly maxBytes: number;
}

export interface PagesOptions<Query> {
  /** Known when the database is connected. */
  readonly columns: () => EntityColumns;
  /** The class of an item. It has the id. */
  readonly dto: Type;
  readonly filters: Filters<Query>;
  readonly statements: Statements;
  readonly shares: ConnectionShares;
  readonly tracer: Tracer;
}

type Row = readonly unknown[];

interface FoundRows {
  /** In ascending order of id. */
  readonly rows: readonly Row[];
  /** At which position of a row its columns begin. */
  readonly first: number;
  /** Whether these are all rows that match. */
  readonly isWhole: boolean;
}

/** Lists rows of an entity in ascending order of id, page by page. No page is larger than a number of bytes. */
export class Pages<Query extends PageParameters> {
  private readonly groups: ReadonlyMap<number, Batcher<bigint, readonly Row[]>>;
  private table: Table | undefined;

  constructor(private readonly options: PagesOptions<Query>) {
    const { shares, tracer } = options;
    this.groups = new Map(
      SIZES.map((limit) => [
        limit,
        new Batcher({
          lengthOf: () => 0,
          maxRows: MAX_PAGES,
          perform: (starts) => shares.lists.run(() => this.readGroup(starts, limit)),
          tracer,
        }),
      ]),
    );
  }

  /**
   * Reads a page. It can be shorter than `limit` and not be the last.
   *
   * @throws PlantStoreError `too-many-lists`, or `too-many-searches` with a filter that searches; `search-too-slow`
   */
  async list(
    parameters: Query,
    { slots, maxBytes }: Reader = { slots: this.options.shares.lists, maxBytes: MAX_PAGE_BYTES },
  ): Promise<Page<Query>> {
    const { limit, after } = parameters;
    if (after === MAX_INT64) return new Page([], undefined, parameters);
    const used = this.usedFilters(parameters);
    const query: PageQuery = {
      start: after === undefined ? MIN_INT64 : after + 1n,
      limit,
      conditions: used.map(
        ([name, filter]) =>
          (parameter, start) =>
            filter.where(parameters[name], parameter, start),
      ),
      order: used.find(([, { order }]) => order !== undefined)?.[1].order,
      maxBytes,
    };
    const found = used.some(([, { isSearch }]) => isSearch)
      ? await this.options.shares.searches.run(() => this.search(query))
      : ((await this.findInGroup(query)) ?? (await slots.run(() => this.find(query))));
    return this.pageOf(found, parameters, maxBytes);
  }

  private usedFilters(parameters: Query) {
    const filters = Object.entries(this.options.filters) as [keyof Query, Filter<unknown>][];
    return filters.filter(([name]) => parameters[name] !== undefined);
  }

  private pageOf(
    { rows, first, isWhole }: FoundRows,
    parameters: Query,
    maxBytes: number,
  ): Page<Query> {
    const { columns, idAt } = this.connected;
    const items: string[] = [];
    let length = 0;
    for (const row of rows) {
      // JSON has up to six characters for a byte of text.
      if (length > maxBytes) break;
      const item = rowToJson(columns, row, first);
      length += item.length;
      items.push(item);
    }
    const isLast = isWhole && items.length === rows.length;
    const last = rows[items.length - 1]?.[first + idAt];
    return new Page(items, isLast ? undefined : parseInt64(String(last)), parameters);
  }

  /** A page together with other pages; `undefined` if it has a filter, a rare size or long rows. */
  private async findInGroup(query: PageQuery): Promise<FoundRows | undefined> {
    const { start, limit, conditions } = query;
    const group = conditions.length === 0 ? this.groups.get(limit) : undefined;
    // Citus does not join a distributed table in this way.
    if (group === undefined || this.options.statements.isDistributed) return undefined;
    return shortPage(await group.add(start), limit, 2);
  }

  private async readGroup(
    starts: readonly bigint[],
    limit: number,
  ): Promise<readonly (readonly Row[])[]> {
    const pages: Row[][] = starts.map(() => []);
    const statement = this.connected.statements.group(starts, limit);
    const rows = await this.options.statements.rows<Row>(statement);
    for (const row of rows) pages[Number(row[0]) - 1]!.push(row);
    return pages;
  }

  /** Returns the first rows that match: at most `limit`, and at least one if there is any. */
  private async find(query: PageQuery): Promise<FoundRows> {
    const { statements: sql } = this.connected;
    const { statements } = this.options;
    const page = shortPage(await statements.rows<Row>(sql.short(query)), query.limit, 1);
    if (page !== undefined) return page;
    const rows = await statements.rows<Row>(sql.bounded(query));
    return { rows, first: 1, isWhole: rows.length === Number(rows[0]?.[0] ?? 0) };
  }

  private async search(query: PageQuery): Promise<FoundRows> {
    try {
      return await this.find(query);
    } catch (error) {
      if (isTooSlow(error) && (await this.isResponsive())) {
        throw new PlantStoreError(ERRORS.searchTooSlow, TOO_SLOW);
      }
      throw error;
    }
  }

  private async isResponsive(): Promise<boolean> {
    const begin = performance.now();
    await this.find({ start: MIN_INT64, limit: 1, conditions: [], order: undefined, maxBytes: 1 });
    return performance.now() - begin < RESPONSIVE;
  }

  private get connected(): Table {
    return (this.table ??= tableOf(this.options.columns(), this.options.dto));
  }
}

/** What is known when the database is connected. */
interface Table {
  readonly columns: readonly EntityColumn[];
  /** The position of the id among the columns. */
  readonly idAt: number;
  readonly statements: PageStatements;
}

function tableOf(table: EntityColumns, dto: Type): Table {
  const columns = table.of(dto);
  const idAt = columns.indexOf(table.key);
  if (idAt === -1) throw new TypeError(`${dto.name} must have the member "id"`);
  return { columns, idAt, statements: new PageStatements(table, columns) };
}

/** The rows of a short page; `undefined` if one of them is long, as the value before its columns tells. */
function shortPage(rows: readonly Row[], limit: number, first: number): FoundRows | undefined {
  if (rows.some((row) => row[first - 1])) return undefined;
  return { rows: rows.slice(0, limit), first, isWhole: rows.length <= limit };
}

function isTooSlow(error: unknown): boolean {
  return error instanceof PlantStoreError && error.kind === ERRORS.databaseTooSlow;
}
