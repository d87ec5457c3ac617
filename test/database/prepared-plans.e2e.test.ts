import type { DataSource } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Semaphore } from '../../packages/framework/src/database/semaphore.js';
import { Statements } from '../../packages/framework/src/database/statements.js';
import { ERRORS } from '../../packages/framework/src/errors/common-errors.js';
import { ServiceException } from '../../packages/framework/src/errors/service.exception.js';
import { NO_TRACER } from '../../packages/framework/src/observability/tracer.js';
import { StoredPlantDto } from '../../src/plants/dto/plant.dto.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { EntityColumns } from '../../packages/framework/src/resources/properties/entity-columns.js';
import { GroupLookup } from '../../packages/framework/src/resources/reads/group-lookup.js';
import { MAX_INT64 } from '../../packages/framework/src/resources/properties/int64.js';
import {
  PageStatements,
  valuesOf,
} from '../../packages/framework/src/resources/reads/page-statement.js';
import { BY_ID } from '../../packages/framework/src/resources/reads/sort.js';
import { Visibility } from '../../packages/framework/src/resources/reads/visibility.js';
import { createDataSource } from '../support/data-source.js';
import { FaultyLink } from '../support/faulty-link.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { ONLY_REQUESTS, startTestService } from '../support/test-service.js';

let database: TestDatabase;

beforeEach(async () => {
  database = await createMigratedDatabase();
});

afterEach(() => database.drop());

describe('a page', () => {
  let dataSource: DataSource;
  let statements: Statements;
  let pages: PageStatements;

  beforeEach(async () => {
    // The pool has only one connection.
    dataSource = createDataSource(database.url);
    await dataSource.initialize();
    statements = new Statements(dataSource);
    const columns = new EntityColumns(dataSource, Plant);
    pages = new PageStatements(columns, columns.of(StoredPlantDto), 'test');
  });

  afterEach(() => dataSource.destroy());

  const of = (...starts: readonly bigint[]) => {
    const wanted = starts.map((start) =>
      pages.grouped({
        start,
        end: MAX_INT64,
        sort: BY_ID,
        limit: 50,
        filters: [],
        maxBytes: 4_000_000,
      }),
    );
    return { ...pages.group(wanted[0]!), values: valuesOf(wanted) };
  };

  const store = (rows: number) =>
    database.query(
      `INSERT INTO plants SELECT n, 'Plant ' || n FROM generate_series(1, ${rows}) AS n`,
    );

  it('that was prepared for an empty table soon uses the index of one that has grown, although nothing analyzes it', async () => {
    await database.query('ALTER TABLE plants SET (autovacuum_enabled = off)');
    // Without the index, the rows are stored sooner.
    await database.query('DROP INDEX plants_name_search_idx');
    const page = of(1n, 2n, 3n, 4n);
    const plan = async () => {
      await statements.rows(page);
      return JSON.stringify(
        await dataSource.query(
          `EXPLAIN EXECUTE "${page.name}"(5000, '{51,51,51,51}', '{1,2,3,4}')`,
        ),
      );
    };
    for (let times = 0; times < 10; times += 1) await statements.rows(page);
    // On a busy machine, the read can take so long that the statement is dropped, to be prepared again.
    await vi.waitFor(async () => expect(await plan()).toContain('Seq Scan'), PATIENCE);
    await store(200_000);
    await vi.waitFor(async () => expect(await plan()).toContain('plants_pkey'), PATIENCE);
  });

  it('is planned a few times, also if each comes alone, as a look-up is', async () => {
    await store(100);
    const columns = new EntityColumns(dataSource, Plant);
    const lookup = new GroupLookup<Plant>({
      columns: () => columns,
      statements,
      tracer: NO_TRACER,
      slots: new Semaphore(1, ERRORS.poolExhausted),
      notFound: () => new ServiceException(ERRORS.noSuchPath),
      visibility: new Visibility(() => columns, undefined),
    });
    // On a busy machine, a read can take so long that it is prepared again.
    await vi.waitFor(async () => {
      for (let id = 1n; id <= 20n; id += 1n) {
        expect(await statements.rows(of(id))).toHaveLength(51);
        expect(await lookup.find(id)).toMatchObject({ id });
      }
      expect(await dataSource.query(KEPT_PLANS)).toEqual([{ isKept: true }, { isKept: true }]);
    }, PATIENCE);
  });

  // From an estimate of 100,000 (`jit_above_cost`), PostgreSQL compiles a plan at each execution, for longer than it reads pages.
  it('is not estimated to cost more than it reads, however many rows the table has', async () => {
    await store(10_000);
    await database.query('VACUUM ANALYZE plants');
    await database.query(
      "UPDATE pg_class SET reltuples = 1e6 * relpages WHERE oid = 'plants'::regclass",
    );
    const page = of(1n);
    // On a busy machine, a read can take so long that the statement is dropped, to be prepared again.
    await vi.waitFor(async () => {
      for (let times = 0; times < 10; times += 1) await statements.rows(page);
      const [plans] = await dataSource.query<readonly [{ 'QUERY PLAN': readonly [Estimate] }]>(
        `EXPLAIN (FORMAT JSON) EXECUTE "${page.name}"(5000, '{51}', '{1}')`,
      );
      expect(plans['QUERY PLAN'][0].Plan['Total Cost']).toBeLessThan(10_000);
    }, PATIENCE);
  });
});

/** Whether the plan of a statement was made a few times, and then kept (PostgreSQL manual, `PREPARE`, notes). */
const KEPT_PLANS =
  'SELECT custom_plans <= 5 AND generic_plans > 0 AS "isKept" FROM pg_prepared_statements';

interface Estimate {
  readonly Plan: { readonly 'Total Cost': number };
}

it('pages of a server that is far away are not prepared each time', async () => {
  const link = await FaultyLink.to(database.url);
  const statements: string[] = [];
  const service = await startTestService({
    environment: { DATABASE_POOL_MAX: '1', ...ONLY_REQUESTS },
    database: { ...database, url: link.url },
    tracer: {
      ...NO_TRACER,
      statement: (text, run) => {
        statements.push(text);
        return run();
      },
    },
  });
  try {
    link.poison({ kind: 'latency', milliseconds: 24, jitter: 0 });
    for (let page = 0; page < 20; page += 1) {
      expect((await service.request('GET', '/plants?limit=50')).status).toBe(200);
    }
    expect(statements.filter((text) => text.startsWith('DEALLOCATE')).length).toBeLessThan(10);
  } finally {
    await service.stop();
    await link.close();
  }
});
