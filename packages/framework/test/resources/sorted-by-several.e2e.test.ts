import { Controller, Get, Injectable, Query } from '@nestjs/common';
import fc from 'fast-check';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  DateField,
  DecimalField,
  DoubleField,
  DtoOf,
  INT64_COLUMN,
  Int64Field,
  IntegerField,
  isEqual,
  isIn,
  JsonField,
  ListOf,
  NoOtherParameters,
  RequireScope,
  ResourceRepository,
  ServiceException,
  SortableBy,
  TextField,
} from '../../src/index.js';
import type { JsonValue, Page } from '../../src/index.js';
import { generateMigration } from '../../src/database/migrations/migration-file.js';
import { Statements } from '../../src/database/statements.js';
import { EntityColumns } from '../../src/resources/properties/entity-columns.js';
import { IndexPaths } from '../../src/resources/reads/index-paths.js';
import { PageStatements } from '../../src/resources/reads/page-statement.js';
import type { Where } from '../../src/resources/reads/page-query.js';
import { columnFilters, filtersOn, usedFilters } from '../../src/resources/reads/used-filters.js';
import { ordersOf, parseSort, sortOf } from '../../src/resources/reads/sort.js';
import { allSortIndexes, missingSortIndexes } from '../../src/resources/reads/sort-indexes.js';
import { resourceMistakes } from '../../src/resources/resource-checks.js';
import { dataSourceFor } from '../support/data-source.js';
import { errorsOf } from '../support/errors.js';
import { IDENTITY } from '../support/identity.js';
import { appOf, migrationOf, runningService } from '../support/running-service.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';

const ERRORS = errorsOf({
  nothing: { number: 40488, message: 'there is no such offer', remedy: 'Check the id' },
  idTaken: { number: 40987, message: 'the id is taken', remedy: 'Choose another id' },
});

const LEAST = -(2n ** 63n);
const GREATEST = 2n ** 63n - 1n;

@SortableBy('small', '-price')
@SortableBy('-label', 'due')
@SortableBy('label', 'price', '-small')
@SortableBy('-small', '-weight')
@SortableBy('code', 'label')
@Entity('offers')
class Offer {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its id.' })
  readonly id!: bigint;

  @Column('text', { nullable: true })
  @TextField({ description: 'A text.', isOptional: true })
  readonly label!: string | null;

  @Column('text')
  @TextField({ description: 'Another text.' })
  readonly code!: string;

  @Column('smallint')
  @IntegerField({ minimum: -5, maximum: 99, description: 'A small number.' })
  readonly small!: number;

  @DecimalField({ precision: 60, scale: 20, description: 'A price.', isOptional: true })
  readonly price!: string | null;

  @DoubleField({ description: 'A weight.', isOptional: true })
  readonly weight!: number | null;

  @DateField({ description: 'A day.', isOptional: true })
  readonly due!: string | null;
}

const FILTERS = { small: isIn('small'), label: isEqual('label'), code: isIn('code') } as const;

class OfferDto extends DtoOf(Offer) {}
@NoOtherParameters()
class ListOffersDto extends ListOf(Offer, FILTERS) {}

@Injectable()
class OffersRepository extends ResourceRepository<Offer, ListOffersDto>(Offer, {
  name: 'offers',
  dto: OfferDto,
  filters: FILTERS,
  notFound: () => new ServiceException(ERRORS.nothing),
  idTaken: () => new ServiceException(ERRORS.idTaken),
}) {}

@Controller('offers')
class OffersController {
  constructor(private readonly offers: OffersRepository) {}

  @Get()
  @RequireScope('offers:read')
  list(@Query() query: ListOffersDto): Promise<Page<ListOffersDto>> {
    return this.offers.list(query);
  }
}

const TABLE = `CREATE TABLE offers (id bigint PRIMARY KEY, label text COLLATE "und-x-icu", code text NOT NULL, small smallint NOT NULL,
  price numeric(60,20), weight double precision, due date)`;

const INDEXES = [
  'CREATE INDEX ON offers (small, price DESC NULLS LAST, id DESC)',
  'CREATE INDEX ON offers (left(label, 100) COLLATE "C" DESC NULLS LAST, due, id)',
  'CREATE INDEX ON offers (left(label, 100) COLLATE "C", price, small DESC, id DESC)',
  'CREATE INDEX ON offers (small DESC, weight DESC NULLS LAST, id DESC) INCLUDE (due)',
  // Read backward.
  'CREATE INDEX ON offers (left(code, 100) COLLATE "C" DESC, left(label, 100) COLLATE "C" DESC, id DESC)',
];

const BY_CODE = 'CREATE INDEX ON offers (code, id)';

const AppModule = appOf([Offer], [migrationOf(TABLE, ...INDEXES, BY_CODE)], {
  controllers: [OffersController],
  providers: [OffersRepository],
});

const ORDERS = ordersOf(Offer).map((order) => order.join());

type Row = Readonly<Record<string, unknown>> & { readonly id: bigint };

const LONG = 'ä'.repeat(100);

/** Values in the order of the database. */
const RANKS: Readonly<Record<string, readonly unknown[]>> = {
  label: ['', '7', 'B', 'a', 'null', 'Ä', LONG, '\u{FFFD}', '🌵'],
  code: ['"', "'", 'A', 'B', 'a'],
  small: [-5, 0, 1],
  price: ['-7', '0.1', '0.10000000000000000001', '1000000000000000000000000000000', 'NaN'],
  weight: ['-Infinity', -1e300, 0, 5e-324, 0.1, 0.30000000000000004, 'Infinity', 'NaN'],
  due: ['0001-01-01', '2026-02-03', '9999-12-31'],
};

const valueOf = (property: string, isNullable = true) =>
  fc.constantFrom(...RANKS[property]!, ...(isNullable ? [null, null] : []));

const offer = fc.record({
  id: fc.oneof(fc.bigInt({ min: -9n, max: 9n }), fc.constantFrom(LEAST, GREATEST)),
  // Equal in its first characters.
  label: fc.oneof(valueOf('label'), fc.constant(`${LONG}b`), fc.constant(`${LONG}a`)),
  code: valueOf('code', false),
  small: valueOf('small', false),
  price: valueOf('price'),
  weight: valueOf('weight'),
  due: valueOf('due'),
});
const rowsOf = (maxLength: number): fc.Arbitrary<readonly Row[]> =>
  fc.uniqueArray(offer, { selector: ({ id }) => id, maxLength });

function rankOf(row: Row, property: string): number {
  const value = row[property];
  const start = typeof value === 'string' ? Array.from(value).slice(0, 100).join('') : value;
  return value === null ? Infinity : RANKS[property]!.indexOf(start);
}

/** The sign of the place of a row before another one. */
function compare(sort: string, one: Row, other: Row): number {
  for (const { property, isDescending } of sort.split(',').map(parseSort)) {
    const [first, second] = [rankOf(one, property), rankOf(other, property)];
    if (first === second) continue;
    if (first === Infinity || second === Infinity) return first === Infinity ? 1 : -1;
    return isDescending ? second - first : first - second;
  }
  const isLess = one.id < other.id ? -1 : 1;
  return sort.split(',').map(parseSort).at(-1)!.isDescending ? -isLess : isLess;
}

describe('a list by several columns', () => {
  const service = runningService(AppModule);

  async function get(path: string) {
    const { status, text, headers } = await service.send('GET', path);
    const next = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
    return { status, text, next };
  }

  async function idsFrom(path: string): Promise<bigint[]> {
    const found: bigint[] = [];
    for (let next: string | undefined = path; next !== undefined;) {
      const page: Awaited<ReturnType<typeof get>> = await get(next);
      expect(page).toMatchObject({ status: 200 });
      found.push(...[...page.text.matchAll(/"id":(-?\d+)/g)].map(([, id]) => BigInt(id!)));
      next = page.next;
    }
    return found;
  }

  const insert = (rows: readonly Row[]) =>
    service.database.query(
      `INSERT INTO offers SELECT * FROM jsonb_to_recordset($1) AS rows (id bigint, label text, code text, small smallint,
        price numeric, weight float8, due date) ON CONFLICT DO NOTHING`,
      [JSON.stringify(rows, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v))],
    );

  it.each(ORDERS)('%s leads over every row once, in its order', async (sort) => {
    await fc.assert(
      fc.asyncProperty(
        rowsOf(20),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom<{ readonly [property: string]: readonly unknown[] }[]>(
          {},
          { small: [0] },
          { small: [0, 1] },
          { code: ['B'] },
          { code: ['B', 'a'] },
          { label: ['Ä'] },
          { label: ['null'] },
          { label: ['B'], code: ['B'] },
        ),
        async (rows, limit, filters) => {
          await service.database.empty();
          await insert(rows);
          const filter = Object.entries(filters)
            .flatMap(([name, values]) =>
              values.map((value) => `&${name}=${encodeURIComponent(String(value))}`),
            )
            .join('');
          const wanted = rows
            .filter((row) =>
              Object.entries(filters).every(([name, values]) => values.includes(row[name])),
            )
            .toSorted((one, other) => compare(sort, one, other));
          const found = await idsFrom(`/offers?limit=${limit}&sort=${sort}${filter}`);
          expect(found).toEqual(wanted.map(({ id }) => id));
        },
      ),
      { numRuns: 25 },
    );
  });

  it.each(ORDERS)('%s skips and repeats no row that stays beside writes', async (sort) => {
    await fc.assert(
      fc.asyncProperty(rowsOf(12), rowsOf(12), async (rows, others) => {
        const stays = new Set(rows.map(({ id }) => id));
        const changing = others.filter(({ id }) => !stays.has(id));
        const byId = new Map([...rows, ...changing].map((row) => [row.id, row]));
        await service.database.empty();
        await insert(rows);
        const walked = new AbortController();
        const write = async () => {
          while (!walked.signal.aborted) {
            for (const one of changing) await insert([one]);
            for (const { id } of changing) {
              await service.database.query(`DELETE FROM offers WHERE id = ${id}`);
            }
            if (changing.length === 0) return;
          }
        };
        const writes = write();
        const found = await idsFrom(`/offers?limit=2&sort=${sort}`).finally(() => walked.abort());
        await writes;
        expect(new Set(found).size).toBe(found.length);
        const inOrder = found
          .map((id) => byId.get(id)!)
          .toSorted((one, other) => compare(sort, one, other));
        expect(found).toEqual(inOrder.map(({ id }) => id));
        expect(new Set(found.filter((id) => stays.has(id)))).toEqual(stays);
      }),
      { numRuns: 10 },
    );
  });

  it('by id has all rows of one value, also a long one', async () => {
    const ids = Array.from({ length: 12 }, (_, at) => BigInt(at + 1));
    const others = { code: 'B', small: 0, price: null, weight: null, due: null };
    await service.database.empty();
    await insert(
      ids.map((id) => ({ id, label: id === 3n ? 'x'.repeat(400_000) : null, ...others })),
    );
    expect(await idsFrom(`/offers?code=B&limit=10&ids=${ids.join()}`)).toEqual(ids);
    expect(await idsFrom('/offers?code=B&limit=10&sort=-id')).toEqual(ids.toReversed());
  });

  it('has the values in its Link', async () => {
    await service.database.empty();
    const row = { label: 'a, "b"', code: 'x', small: 1, price: '12.50', weight: null, due: null };
    await insert([
      { id: 1n, ...row },
      { id: 2n, ...row },
    ]);
    const { next } = await get('/offers?limit=1&sort=label,price,-small');
    const url = new URL(next!, service.url);
    expect(url.searchParams.get('afterValue')).toBe('["a, \\"b\\"","12.50000000000000000000","1"]');
    expect(url.searchParams.get('after')).toBe('2');
    expect(url.searchParams.get('sort')).toBe('label,price,-small');
    const nulls = new URL((await get('/offers?limit=1&sort=-small,-weight')).next!, service.url);
    expect(nulls.searchParams.get('afterValue')).toBe('["1",null]');
    // Rows that are longer than a page.
    await service.database.query(`UPDATE offers SET label = repeat('b', 5000000)`);
    expect(await idsFrom('/offers?limit=2&sort=label,price,-small')).toEqual([2n, 1n]);
  });

  it.each([
    ['"7"', 'afterValue must be an array in JSON with a text or null for each column of the order'],
    ['["7"]', /^afterValue must be an array/],
    ['["7","1","2"]', /^afterValue must be an array/],
    ['[7,"1"]', /^afterValue must be an array/],
    ['["7","\\u0000"]', /^afterValue must be an array/],
    ['["7"', /^afterValue must be an array/],
    ['["7","x"]', 'afterValue must have values of small and price'],
    ['["70000",null]', 'afterValue must have values of small and price'],
  ])('begins after no %s', async (value, message) => {
    const query = new URLSearchParams({ sort: 'small,-price', after: '1', afterValue: value });
    const { status, text } = await get(`/offers?${String(query)}`);
    expect({ status, ...JSON.parse(text) }).toMatchObject({
      status: 400,
      error: 40004,
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
  });

  it.each([
    ['sort=-small,price', /^sort must be one of id, -id, /],
    ['sort=small,-price&sort=id&after=1&afterValue=[]', /\bsort\b/],
    ['sort=small,-price&after=1', /^after and afterValue must be given together/],
    ['sort=small,-price&ids=1', /^sort must be id or -id for a list of ids/],
    [
      `sort=small,-price&${'small=1&'.repeat(40)}`,
      'sort must be id or -id for filters of more than 200 bytes together, percent-encoded',
    ],
  ])('is rejected with %s', async (query, message) => {
    const { status, text } = await get(`/offers?${query}`);
    expect({ status, ...JSON.parse(text) }).toMatchObject({
      status: 400,
      error: 40004,
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
  });
});

describe('an order by several columns', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });

  afterAll(() => database.drop());

  async function using<Result>(
    entity: Function,
    work: (dataSource: DataSource, columns: EntityColumns) => Promise<Result>,
  ): Promise<Result> {
    const schema = { entities: [entity as never], migrations: [] };
    const dataSource = dataSourceFor({ identity: IDENTITY, schema }, database.url);
    await dataSource.initialize();
    try {
      return await work(dataSource, new EntityColumns(dataSource, entity as never));
    } finally {
      await dataSource.destroy();
    }
  }

  const missing = () =>
    using(Offer, (dataSource, columns) => missingSortIndexes(dataSource, columns, Offer));

  it('has its index in a generated migration, which the start needs', async () => {
    const generate = () =>
      using(Offer, async (dataSource) => {
        const indexes = allSortIndexes(dataSource);
        const parts = { isOwn: () => true, indexes };
        return generateMigration(dataSource, 'Offers', 1, () => {}, parts);
      });
    const { statements = [] } = (await generate()) ?? {};
    expect(statements.filter((each) => each.startsWith('CREATE INDEX'))).toEqual([
      'CREATE INDEX "offers_code_label_sort_idx" ON "offers"  (left("code", 100) COLLATE "C", left("label", 100) COLLATE "C", "id")',
      'CREATE INDEX "offers_small_desc_weight_desc_sort_idx" ON "offers"  ("small" DESC, "weight" DESC NULLS LAST, "id" DESC)',
      'CREATE INDEX "offers_label_price_small_desc_sort_idx" ON "offers"  (left("label", 100) COLLATE "C", "price", "small" DESC, "id" DESC)',
      'CREATE INDEX "offers_label_desc_due_sort_idx" ON "offers"  (left("label", 100) COLLATE "C" DESC NULLS LAST, "due", "id")',
      'CREATE INDEX "offers_small_price_desc_sort_idx" ON "offers"  ("small", "price" DESC NULLS LAST, "id" DESC)',
    ]);
    for (const statement of statements) {
      if (!statement.startsWith('CREATE INDEX')) await database.query(statement);
    }
    expect(await missing()).toHaveLength(5);
    expect((await missing())[4]).toBe(
      '"offers": lists can be sorted by small,-price, which needs an index that the table does not have: CREATE INDEX CONCURRENTLY ON "offers" ("small", "price" DESC NULLS LAST, "id" DESC)',
    );
    for (const statement of statements) {
      if (statement.startsWith('CREATE INDEX')) await database.query(statement);
    }
    expect(await missing()).toEqual([]);
    expect(await generate()).toBeUndefined();
    await database.query('ALTER TABLE offers RENAME COLUMN price TO cost');
    expect(await missing()).toHaveLength(2);
    await database.query('ALTER TABLE offers RENAME COLUMN cost TO price');
  });

  it.each([
    ['with nulls first', '(small, price DESC, id DESC)'],
    ['in another direction', '(small, price, id)'],
    ['with the id in another direction', '(small, price DESC NULLS LAST, id)'],
    ['of another order', '(price DESC NULLS LAST, small, id DESC)'],
    ['without the id', '(small, price DESC NULLS LAST) INCLUDE (id)'],
    ['of some rows', '(small, price DESC NULLS LAST, id DESC) WHERE small > 0'],
  ])('needs more than an index %s', async (_, index) => {
    await database.query('DROP TABLE IF EXISTS offers');
    await database.query(TABLE);
    for (const other of [...INDEXES.slice(1), `CREATE INDEX ON offers ${index}`]) {
      await database.query(other);
    }
    expect(await missing()).toEqual([expect.stringContaining('sorted by small,-price,')]);
  });

  it('is read from its index, without a sort of all rows', async () => {
    await database.query('DROP TABLE IF EXISTS offers');
    await database.query(TABLE);
    for (const index of INDEXES) await database.query(index);
    await database.query(
      `INSERT INTO offers SELECT n, 'l' || n % 7, 'c' || n % 5, n % 3, nullif(n % 11, 0), nullif(n % 13, 0), date '2026-01-01' + n % 17
       FROM generate_series(1, 5000) AS n`,
    );
    await database.query('ANALYZE offers');
    // The planner would rather sort a few rows.
    await database.query(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET enable_sort = off', current_database()); END $$`,
    );
    await using(Offer, async (dataSource, columns) => {
      const paths = await IndexPaths.of(new Statements(dataSource), columns);
      const statements = new PageStatements(columns, columns.all, 'Offer');
      const { least: start, greatest: end } = columns.keyType;
      const after = {
        code: 'c1',
        label: 'l3',
        small: '1',
        price: '4',
        weight: '5',
        due: '2026-01-05',
      };
      for (const sort of ORDERS) {
        const names = sort.split(',').map((each) => parseSort(each).property);
        const values = names.map((name) => after[name as keyof typeof after]);
        const parameters = {
          [names[0]!]:
            FILTERS[names[0] as keyof typeof FILTERS]?.shape === 'values' ? [values[0]] : values[0],
        };
        const first = usedFilters(filtersOn(columns, FILTERS), parameters);
        const places = [{}, { after: 77n, afterValue: JSON.stringify(values) }];
        for (const [filters, place] of [[], first].flatMap((some) =>
          places.map((at) => [some, at] as const),
        )) {
          const by = sortOf(columns, { sort, ...place });
          const starts = paths.startsOf({ filters, sort: by });
          const page = { start, end, sort: by, limit: 50, filters, starts, maxBytes: 4_000_000 };
          expect(paths.serves(page, columns)).toBe(true);
          const { text, values: given } = statements.short(page);
          const plan = await dataSource.query<unknown>(`EXPLAIN (COSTS OFF) ${text}`, given);
          expect([sort, JSON.stringify(plan)]).not.toEqual([
            sort,
            expect.stringMatching('after' in place ? /Seq Scan/ : /Seq Scan|Sort/),
          ]);
          if (starts.length > 0) expect(JSON.stringify(plan)).toContain('Index Cond');
        }
      }
    });
  });

  it('is not searched for a text that its index compares otherwise than a filter', async () => {
    await database.query('DROP TABLE IF EXISTS offers');
    await database.query(
      `CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
    );
    await database.query(
      TABLE.replace('"und-x-icu"', 'caseless').replace('code text', 'code char(5)'),
    );
    for (const index of [...INDEXES, BY_CODE]) await database.query(index);
    await using(Offer, async (dataSource, columns) => {
      const paths = await IndexPaths.of(new Statements(dataSource), columns);
      const listed = (order: string, where: Where) => ({
        sort: sortOf(columns, { sort: order }),
        filters: columnFilters(columns, where),
      });
      const startsOf = (order: string, where: Where) =>
        paths.startsOf(listed(order, where)).map(({ column }) => column.property);
      expect(startsOf('label,price,-small', { label: 'saw' })).toEqual([]);
      expect(paths.serves(listed('label,price,-small', { label: 'saw' }), columns)).toBe(false);
      expect(startsOf('code,label', { code: 'saw' })).toEqual([]);
      expect(startsOf('label,price,-small', { label: null })).toEqual(['label']);
      expect(startsOf('small,-price', { small: 1, price: null })).toEqual(['small', 'price']);
      // Its parameter is a text, which an index on char(5) does not compare.
      expect(paths.prefixOf(listed('id', { code: 'saw' }), columns)).toBeUndefined();
      const { least: start, greatest: end } = columns.keyType;
      const query = listed('label,price,-small', { label: null });
      const page = { ...query, start, end, limit: 1, maxBytes: 1, starts: paths.startsOf(query) };
      const { text } = new PageStatements(columns, columns.all, 'Offer').short(page);
      expect(text).toContain('left("label", 100) COLLATE "C" IS NULL');
    });
  });

  it.each<[string, readonly string[], string]>([
    ['an unknown column', ['size', 'none'], ' needs none, which ThingDto lacks'],
    [
      'one column',
      ['size'],
      ' must have several columns, each once, and not the id, which ends each order',
    ],
    [
      'a column twice',
      ['size', '-size'],
      ' must have several columns, each once, and not the id, which ends each order',
    ],
    [
      'the id',
      ['size', 'id'],
      ' must have several columns, each once, and not the id, which ends each order',
    ],
    ['a type without an order', ['size', 'specs'], ' has specs of the type jsonb'],
    ['three texts', ['a', 'b', 'c'], ' has more than two texts, so a Link could be too long'],
  ])('stops the start with %s', async (_, order, mistake) => {
    @SortableBy(...order)
    @Entity('things')
    class Thing {
      @PrimaryColumn(INT64_COLUMN)
      @Int64Field({ description: 'Its id.' })
      readonly id!: bigint;

      @Column('integer')
      @IntegerField({ minimum: 0, maximum: 9, description: 'Its size.' })
      readonly size!: number;

      @JsonField({ description: 'Whatever.' })
      readonly specs!: JsonValue;

      @Column('text')
      @TextField({ description: 'A.' })
      readonly a!: string;

      @Column('text')
      @TextField({ description: 'B.' })
      readonly b!: string;

      @Column('text')
      @TextField({ description: 'C.' })
      readonly c!: string;
    }
    class ThingDto extends DtoOf(Thing) {}
    const mistakes = await using(Thing, (dataSource) =>
      Promise.resolve(
        resourceMistakes(
          dataSource,
          { entity: Thing, dto: ThingDto, isGenerated: false, filters: {}, expansions: {} },
          [],
        ),
      ),
    );
    expect(mistakes).toEqual([`Thing: the order ${order.join()}${mistake}`]);
  });
});
