import type { Type } from '@nestjs/common';
import { Batcher } from '../../database/batcher.js';
import type { Semaphore } from '../../database/semaphore.js';
import { STORED_TYPES } from '../../database/connections/value-types.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { Page } from '../../http/responses/page.js';
import type { PageParameters, Total } from '../../http/responses/page.js';
import { rowToJson } from '../properties/entity-columns.js';
import type { Shared } from '../locks/shared.js';
import type { Expander, JoinRelated } from './expander.js';
import { hasSearch, isSearch } from './index-paths.js';
import type { IndexPaths } from './index-paths.js';
import { rangeOf } from './page-query.js';
import type { Filters, GroupedPage, ListContext, PageQuery, UsedFilter } from './page-query.js';
import { MAX_COUNTED, PageStatements, valuesOf } from './page-statement.js';
import { columnFilters, filtersOn, usedFilters } from './used-filters.js';
import type { NamedFilters } from './used-filters.js';
import { BY_ID, sortOf, valueRead, withoutNeedlessSort } from './sort.js';
import type { Visibility } from './visibility.js';

/** Limits of pages that share a statement. Of a small page, the statement costs PostgreSQL more than the rows. */
const MAX_GROUP = { pages: 16, rows: 1_000 } as const;

/**
 * The limit of grouped statements, one for each combination of filters, or several if a condition depends on the value. Other pages
 * are read one by one.
 */
const MAX_KINDS = 32;

/** The limit of a page, unless its first item has more. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** A database that reads the first row within these milliseconds did not cause a slow search. */
const RESPONSIVE = 250;

const SEARCH_TOO_SLOW =
  'the search takes too long: search for a longer or rarer text, or use another filter as well';

const SORT_TOO_SLOW = 'the list takes too long: sort it by id, or use another filter as well';

export interface Reader {
  readonly slots: Semaphore;
  readonly maxBytes: number;
}

interface PagesOptions<Query> extends Pick<
  Shared,
  'columns' | 'statements' | 'bulkheads' | 'tracer'
> {
  /** The class of an item, with the id. */
  readonly dto: Type;
  readonly filters: Filters<Query>;
  readonly visibility: Visibility;
  readonly expander: Expander;
  /** Known when the service has started. */
  readonly paths: () => IndexPaths;
}

type Row = readonly unknown[];

/** The result of `EXPLAIN (FORMAT JSON)`. */
type Plans = readonly [{ readonly Plan: { readonly 'Plan Rows': number } }];

interface Group {
  readonly statement: ReturnType<PageStatements['group']>;
  readonly batcher: Batcher<GroupedPage, FoundRows | undefined>;
}

interface FoundRows {
  /** In the order of the list. The columns begin at the second position. */
  readonly rows: readonly Row[];
  /** Whether these are all matching rows. */
  readonly isWhole: boolean;
}

const NOTHING: FoundRows = { rows: [], isWhole: true };

/** Lists rows of an entity in pages of bounded bytes, by default in ascending order of id. */
export class Pages<Query extends PageParameters> {
  private readonly groups = new Map<string, Group>();
  private sql: PageStatements | undefined;
  private filters: NamedFilters | undefined;

  constructor(private readonly options: PagesOptions<Query>) {}

  /**
   * Reads a page. A page that is not the last can be shorter than `limit`, too.
   *
   * @param context the actor, if not all rows are visible, or if items are expanded
   * @param reader reads pages one by one, in slots of its own; by default, concurrent pages share a statement
   * @throws ServiceException `too-many-lists`, or `too-many-searches` with a filter that searches; `search-too-slow`;
   *   `parameter-not-valid` if `afterValue` is no value of the column
   */
  async list(wanted: Query, context?: ListContext, reader?: Reader): Promise<Page<Query>> {
    const maxBytes = reader?.maxBytes ?? MAX_PAGE_BYTES;
    const { expander } = this.options;
    const columns = this.options.columns();
    const expand = wanted.expand && expander.permitted(wanted.expand, context);
    const filters = this.filtersOf(wanted, context);
    const { parameters, isEmpty } =
      wanted.sort === undefined
        ? { parameters: wanted, isEmpty: false }
        : await this.withoutNeedlessSort(wanted, filters);
    const { limit, after, ids } = parameters;
    const sort = sortOf(columns, parameters);
    const { start, end, isEmpty: isBeyond } = rangeOf(columns.keyType, sort, after);
    const unordered = { start, end, sort, limit, ids, filters, maxBytes };
    const paths = this.options.paths();
    const [prefix, starts] = [paths.prefixOf(unordered, columns), paths.startsOf(unordered)];
    const query = { ...unordered, prefix, starts };
    const found = isEmpty || isBeyond ? NOTHING : await this.found(query, reader?.slots);
    const join =
      expand && (await expander.read(expand, this.statements.columns, found.rows, query));
    const page = this.pageOf(found, parameters, query, join);
    if (parameters.count !== true) return page;
    // A whole list needs no other statement, which would count at another moment.
    const isWhole = after === undefined && page.next === undefined;
    const total = isWhole ? { items: page.items.length, isExact: true } : await this.total(query);
    return new Page(page.items, page.next, parameters, { ...page.details, total });
  }

  private filtersOf(wanted: Query, context: ListContext | undefined): readonly UsedFilter[] {
    const { columns, filters, visibility } = this.options;
    this.filters ??= filtersOn(columns(), filters);
    const used = usedFilters(this.filters, wanted);
    if (context?.where !== undefined) used.push(...columnFilters(columns(), context.where));
    if (visibility.isLimited) used.push(...visibility.filtersFor(context));
    return used;
  }

  private withoutNeedlessSort(wanted: Query, filters: readonly UsedFilter[]) {
    const equal = filters.filter(([{ equals }]) => equals !== undefined);
    const columns = this.options.columns();
    const names = equal.flatMap(([{ equals }]) => equals ?? []);
    return withoutNeedlessSort(columns, wanted, names, async (by, value) => {
      const filter = equal.filter(([{ equals }]) => columns.named(equals!) === by.column);
      const statement = this.statements.compare({ ...this.first, filters: filter }, by, value);
      const compare = () => this.options.statements.rows<[number]>(statement);
      const [row] = await this.options.bulkheads.lists.run(() => valueRead([by], compare));
      return row?.[0];
    });
  }

  private found(query: PageQuery, slots?: Semaphore): Promise<FoundRows> {
    if (!isSearch(query, this.options)) return this.findWithoutSearch(query, slots);
    return this.options.bulkheads.searches.run(() => this.search(query, () => this.find(query)));
  }

  private total(query: PageQuery): Promise<Total> {
    const { bulkheads } = this.options;
    const count = () => this.count(query);
    if (!hasSearch(query)) return bulkheads.lists.run(count);
    return bulkheads.searches.run(() => this.search(query, count));
  }

  private async count(query: PageQuery): Promise<Total> {
    const { statements } = this.options;
    const [[counted] = []] = await statements.rows(this.statements.count(query));
    if (Number(counted) <= MAX_COUNTED) return { items: Number(counted), isExact: true };
    const [[[plan]]] = (await statements.rows(this.statements.estimate(query))) as [[Plans]];
    // The planner may expect fewer than there are.
    return { items: Math.max(MAX_COUNTED + 1, plan.Plan['Plan Rows']), isExact: false };
  }

  private pageOf(
    { rows, isWhole }: FoundRows,
    parameters: Query,
    { maxBytes, sort }: PageQuery,
    join: JoinRelated | undefined,
  ): Page<Query> {
    const { statements } = this;
    const items: string[] = [];
    let length = 0;
    for (const row of rows) {
      // JSON has up to six characters for a byte of text.
      if (length > maxBytes) break;
      const own = rowToJson(statements.columns, row);
      const item = join === undefined ? own : join(own, row);
      if (item === undefined) break;
      length += item.length;
      items.push(item);
    }
    const isLast = isWhole && items.length === rows.length;
    const last = rows[items.length - 1];
    if (isLast || last === undefined) return new Page(items, undefined, parameters);
    const details = sort.by.length === 0 ? {} : { nextValue: statements.sortedBy(last) };
    return new Page(items, statements.idOf(last), parameters, details);
  }

  private async findWithoutSearch(query: PageQuery, slots?: Semaphore): Promise<FoundRows> {
    const alone = slots ?? this.options.bulkheads.lists;
    const { ids, sort, filters, prefix } = query;
    // Citus cannot join a distributed table in this way, and `unnest` takes no arrays of different lengths. By several filters of which none
    // or more than one has an index, the planner needs the values.
    const isAlone =
      this.options.statements.isDistributed ||
      ids !== undefined ||
      sort.by.length > 0 ||
      (filters.length > 1 && prefix === undefined);
    const page = isAlone ? undefined : this.statements.grouped(query);
    const group = page && this.groupOf(page);
    if (page === undefined || group === undefined) return alone.run(() => this.find(query));
    const found =
      slots === undefined
        ? await group.batcher.add(page)
        : (await slots.run(() => this.readGroup([page], group.statement)))[0];
    // It has long rows: another short page would only occupy the slot.
    return found ?? alone.run(() => this.findBounded(query));
  }

  private groupOf(page: GroupedPage): Group | undefined {
    const known = this.groups.get(page.clauses);
    if (known !== undefined || this.groups.size === MAX_KINDS) return known;
    // PostgreSQL has no arrays of arrays.
    if (page.types.some((type) => type.endsWith('[]'))) return undefined;
    const { bulkheads, statements, tracer } = this.options;
    const statement = this.statements.group(page);
    const batcher = new Batcher<GroupedPage, FoundRows | undefined>({
      lengthOf: ({ limit }) => limit + 1,
      maxRows: MAX_GROUP.pages,
      maxLength: MAX_GROUP.rows,
      perform: (pages) => bulkheads.lists.run(() => this.readGroup(pages, statement)),
      tracer,
      limits: statements.limits,
    });
    const group = { statement, batcher };
    this.groups.set(page.clauses, group);
    return group;
  }

  /** Returns the rows of each page; `undefined` for a page with a long row. */
  private async readGroup(
    pages: readonly GroupedPage[],
    statement: Group['statement'],
  ): Promise<readonly (FoundRows | undefined)[]> {
    const { name, text } = statement;
    const read = { name, text, values: valuesOf(pages), types: STORED_TYPES };
    const rows = await this.options.statements.rows<Row>(read);
    if (pages.length === 1) {
      const isLong = rows.some(([number]) => Number(number) < 0);
      return [isLong ? undefined : shortPage(rows, pages[0]!.limit)];
    }
    const found: Row[][] = pages.map(() => []);
    const long = new Set<number>();
    for (const row of rows) {
      const page = Number(row[0]);
      found[Math.abs(page) - 1]!.push(row);
      if (page < 0) long.add(-page - 1);
    }
    return found.map((page, at) => (long.has(at) ? undefined : shortPage(page, pages[at]!.limit)));
  }

  /** Returns the first matching rows: at most `limit`, and at least one if there is any. */
  private async find(query: PageQuery): Promise<FoundRows> {
    const { by, after } = query.sort;
    const read = () => this.options.statements.rows<Row>(this.statements.short(query));
    const rows = await (after === undefined ? read() : valueRead(by, read));
    return rows.some(([isLong]) => isLong) ? this.findBounded(query) : shortPage(rows, query.limit);
  }

  private async findBounded(query: PageQuery): Promise<FoundRows> {
    const rows = await this.options.statements.rows(this.statements.bounded(query));
    return { rows, isWhole: rows.length === Number(rows[0]?.[0] ?? 0) };
  }

  private async search<Result>(query: PageQuery, perform: () => Promise<Result>): Promise<Result> {
    try {
      return await perform();
    } catch (error) {
      const isTooSlow = error instanceof ServiceException && error.kind === ERRORS.databaseTooSlow;
      if (isTooSlow && (await this.isResponsive())) {
        const message = hasSearch(query) ? SEARCH_TOO_SLOW : SORT_TOO_SLOW;
        throw new ServiceException(ERRORS.searchTooSlow, message);
      }
      throw error;
    }
  }

  private async isResponsive(): Promise<boolean> {
    const begin = performance.now();
    await this.find(this.first);
    return performance.now() - begin < RESPONSIVE;
  }

  private get first(): PageQuery {
    const { least: start, greatest: end } = this.options.columns().keyType;
    return { start, end, sort: BY_ID, limit: 1, filters: [], maxBytes: 1 };
  }

  private get statements(): PageStatements {
    const { columns, dto } = this.options;
    return (this.sql ??= new PageStatements(columns(), columns().of(dto), dto.name));
  }
}

/** @param rows without long ones; one more than the limit means that there is a next page */
function shortPage(rows: readonly Row[], limit: number): FoundRows {
  return { rows: rows.slice(0, limit), isWhole: rows.length <= limit };
}
