import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Config } from '../../packages/framework/src/config/config.js';
import { Bulkheads } from '../../packages/framework/src/database/bulkheads.js';
import { Statements } from '../../packages/framework/src/database/statements.js';
import type { Statement } from '../../packages/framework/src/database/statements.js';
import { NO_TRACER } from '../../packages/framework/src/observability/tracer.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { EntityColumns } from '../../packages/framework/src/resources/properties/entity-columns.js';
import { MAX_INT64, MIN_INT64 } from '../../packages/framework/src/resources/properties/int64.js';
import { Pages } from '../../packages/framework/src/resources/reads/pages.js';
import {
  PageStatements,
  valuesOf,
} from '../../packages/framework/src/resources/reads/page-statement.js';
import type { PageQuery } from '../../packages/framework/src/resources/reads/page-query.js';
import { sortOf } from '../../packages/framework/src/resources/reads/sort.js';
import { Expander } from '../../packages/framework/src/resources/reads/expander.js';
import { IndexPaths } from '../../packages/framework/src/resources/reads/index-paths.js';
import { Visibility } from '../../packages/framework/src/resources/reads/visibility.js';
import type { ListPlantsDto } from '../../src/plants/dto/list-plants.dto.js';
import { StoredPlantDto } from '../../src/plants/dto/plant.dto.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { PLANT_FILTERS } from '../../src/plants/plants.filters.js';
import { createDataSource } from '../support/data-source.js';
import { createMigratedDatabase } from '../support/migrated-database.js';

/* How many pages of 8 kB PostgreSQL looks at for a list of 50 in a table of about 1,300. */

let database: TestDatabase;
let dataSource: DataSource;
let columns: EntityColumns;

beforeAll(async () => {
  database = await createMigratedDatabase();
  dataSource = await createDataSource(database.url).initialize();
  columns = new EntityColumns(dataSource, Plant);
  // One tag of half of all, many of a few, and 20,000 plants without one; not in the order of the ids.
  await database.query(
    `INSERT INTO plants SELECT n * 7919 % 100003, 'Plant ' || n || repeat('.', 60),
       CASE WHEN n % 5 = 0 THEN NULL WHEN n % 2 = 0 THEN 'half' ELSE 'tag ' || n % 997 END
     FROM generate_series(1, 100000) AS n`,
  );
  await database.query('VACUUM ANALYZE plants');
});

afterAll(async () => {
  await dataSource.destroy();
  await database.drop();
});

/** The blocks that a page reads, in all of its statements, and the ids of its plants. */
async function pageOf(parameters: Omit<ListPlantsDto, 'limit'>) {
  let blocks = 0;
  const rows = async (statement: Statement): Promise<readonly unknown[]> => {
    const { text, values } = statement;
    const [row] = await dataSource.query<{ 'QUERY PLAN': readonly Plan[] }[]>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
      values,
    );
    const { Plan: plan } = row!['QUERY PLAN'][0]!;
    blocks += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    return statements.rows(statement);
  };
  const statements = new Statements(dataSource);
  const visibility = new Visibility(() => columns, undefined);
  const parts = {
    statements: { isDistributed: false, rows } as Statements,
    bulkheads: new Bulkheads({ database: { poolMax: 10 } } as Config),
  };
  const resourceOf = () => ({ columns: () => columns, visibility });
  const pages = new Pages<ListPlantsDto>({
    ...parts,
    columns: () => columns,
    dto: StoredPlantDto,
    filters: PLANT_FILTERS,
    visibility,
    expander: new Expander({ ...parts, expansions: {}, resourceOf }),
    paths: () => IndexPaths.none,
    tracer: NO_TRACER,
  });
  const { items } = await pages.list({ limit: 50, ...parameters });
  return { blocks, ids: items.map((item) => /"id":(\d+)/.exec(item)![1]) };
}

interface Plan {
  readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number };
}

/** A page in the order of ids shares a statement with others. */
function grouped(pages: PageStatements, query: PageQuery) {
  const page = pages.grouped(query);
  return { text: pages.group(page).text, values: valuesOf([page]) };
}

async function blocksOf(
  sort: string,
  after?: readonly [id: string, value?: string],
  tag?: string,
): Promise<number> {
  const order = sortOf(columns, {
    limit: 50,
    sort,
    ...(after && { after: BigInt(after[0]) }),
    ...(after?.[1] !== undefined && { afterValue: after[1] }),
  });
  const query: PageQuery = {
    start: MIN_INT64,
    end: sort === '-id' && after ? BigInt(after[0]) - 1n : MAX_INT64,
    sort: order,
    limit: 50,
    filters: tag === undefined ? [] : [[PLANT_FILTERS.tag, tag]],
    maxBytes: 4_000_000,
  };
  const pages = new PageStatements(columns, columns.of(StoredPlantDto), 'test');
  const { text, values } = order.by === undefined ? grouped(pages, query) : pages.short(query);
  const [row] = await dataSource.query<{ 'QUERY PLAN': readonly Plan[] }[]>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
    values,
  );
  const { Plan: plan } = row!['QUERY PLAN'][0]!;
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

it.each([
  ['-id', undefined],
  ['-id', ['50000']],
  ['tag', undefined],
  ['tag', ['50000', '"half"']],
  ['tag', ['50000', '"tag 500"']],
  ['tag', ['99990', '"tag 996"']],
  ['tag', ['50000', 'null']],
  ['-tag', undefined],
  ['-tag', ['50000', '"half"']],
  ['-tag', ['50000', '"tag 500"']],
  ['-tag', ['1', '"half"']],
  ['-tag', ['50000', 'null']],
] as const)('a page by %s after %j reads little more than its plants', async (sort, after) => {
  // Two ranges of 51 plants, each at a place of its own, and the way to them in the index.
  expect(await blocksOf(sort, after)).toBeLessThan(130);
});

it.each([
  ['-id', 'half', undefined],
  ['-id', 'half', ['50000']],
  ['-id', 'tag 500', undefined],
  ['-id', 'tag 501', ['50000']],
] as const)('a page by %s with the tag %s after %j reads little more', async (sort, tag, after) => {
  expect(await blocksOf(sort, after, tag)).toBeLessThan(130);
});

it.each(['tag', '-tag'])(
  'a page by %s with one tag begins anywhere, and reads little more than its plants',
  async (sort) => {
    for (const tag of ['half', 'tag 500', 'tag 501', 'absent']) {
      for (const value of ['', 'a', 'half', 'tag', 'tag 500', 'tag 501', 'zzz', null]) {
        const page = await pageOf({ tag, sort, after: 50_000n, afterValue: JSON.stringify(value) });
        expect(page.blocks).toBeLessThan(150);
        const [isBeyond, direction] = sort === 'tag' ? ['>', 'ASC'] : ['<', 'DESC'];
        const wanted = await database.query(
          `SELECT id::text FROM plants
           WHERE tag = $1 AND $2::text IS NOT NULL AND (tag COLLATE "C", id) ${isBeyond} ($2, 50000)
           ORDER BY plants.id ${direction} LIMIT 50`,
          [tag, value],
        );
        expect([tag, value, page.ids]).toEqual([tag, value, wanted.map(({ id }) => id)]);
      }
    }
  },
);
