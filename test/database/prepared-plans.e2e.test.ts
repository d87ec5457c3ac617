import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Statements } from '../../packages/framework/src/database/statements.js';
import { NO_TRACER } from '../../packages/framework/src/observability/tracer.js';
import { StoredPlantDto } from '../../src/plants/dto/plant.dto.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { EntityColumns } from '../../packages/framework/src/resources/entity-columns.js';
import { MAX_INT64 } from '../../packages/framework/src/resources/int64.js';
import { PageStatements, valuesOf } from '../../packages/framework/src/resources/page-statement.js';
import { BY_ID } from '../../packages/framework/src/resources/sort.js';
import { createDataSource } from '../support/data-source.js';
import { FaultyLink } from '../support/faulty-link.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { startTestService } from '../support/test-service.js';

let database: TestDatabase;

beforeEach(async () => {
  database = await createMigratedDatabase();
});

afterEach(() => database.drop());

it('a page that was prepared for an empty table soon uses the index of one that has grown, although nothing analyzes it', async () => {
  await database.query('ALTER TABLE plants SET (autovacuum_enabled = off)');
  // Without the index, the rows are stored sooner.
  await database.query('DROP INDEX plants_name_search_idx');
  const dataSource = createDataSource(database.url);
  await dataSource.initialize();
  try {
    const columns = new EntityColumns(dataSource, Plant);
    const pages = new PageStatements(columns, columns.of(StoredPlantDto), 'test');
    const wanted = [1n, 2n, 3n, 4n].map((start) =>
      pages.grouped({
        start,
        end: MAX_INT64,
        sort: BY_ID,
        limit: 50,
        filters: [],
        maxBytes: 4_000_000,
      }),
    );
    const page = { ...pages.group(wanted[0]!), values: valuesOf(wanted) };
    const statements = new Statements(dataSource);
    // The pool has only one connection.
    const plan = async () => {
      await statements.rows(page);
      return JSON.stringify(
        await dataSource.query(
          `EXPLAIN EXECUTE "${page.name}"(5000, '{51,51,51,51}', '{1,2,3,4}')`,
        ),
      );
    };
    for (let times = 0; times < 10; times += 1) await statements.rows(page);
    expect(await plan()).toContain('Seq Scan');
    await database.query(
      "INSERT INTO plants SELECT n, 'Plant ' || n FROM generate_series(1, 200000) AS n",
    );
    await vi.waitFor(async () => expect(await plan()).toContain('plants_pkey'), PATIENCE);
  } finally {
    await dataSource.destroy();
  }
});

it('pages of a server that is far away are not prepared each time', async () => {
  const link = await FaultyLink.to(database.url);
  const statements: string[] = [];
  const service = await startTestService({
    environment: { DATABASE_POOL_MAX: '1' },
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
