import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { poolOf } from '../../src/database/connections/bounded-pool.js';
import { checkLetters, RETRY, SearchIndex } from '../../src/resources/reads/search-index.js';
import { createDataSource } from '../support/tool-library.js';
import { PATIENCE } from '../support/patience.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';

/* test/faults/name-index-cleaner.test.ts tests the cleaning itself. */

/** As long as all texts together must be before the index is cleaned. */
const ENOUGH = 'x'.repeat(80_000);

let database: TestDatabase;
let dataSource: DataSource;
let lines: Record<string, unknown>[];
const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as never) });

beforeAll(async () => {
  database = await createTestDatabase();
  await database.query('CREATE EXTENSION pg_trgm');
  dataSource = await createDataSource(database.url).initialize();
});

afterAll(async () => {
  await dataSource.destroy();
  await database.drop();
});

describe('a search index', () => {
  it('that the database does not have is left alone, which the log says once', async () => {
    lines = [];
    const index = new SearchIndex({ index: 'none', property: 'name' }, dataSource, logger);
    for (let round = 0; round < 2; round += 1) {
      index.note([{ name: ENOUGH }]);
      await vi.waitFor(() => expect(lines).toHaveLength(1), PATIENCE);
    }
    expect(lines[0]).toMatchObject({ index: 'none', mayClean: false, hasCitus: false });
    await index.close();
  });

  it('is not cleaned for rows without a text', async () => {
    lines = [];
    const index = new SearchIndex({ index: 'none', property: 'name' }, dataSource, logger);
    index.note([{ name: null }, {}]);
    index.note([{ name: ENOUGH.slice(2) }]);
    await index.close();
    expect(lines).toEqual([]);
  });

  it('is cleaned with the next row after an attempt that failed', async () => {
    lines = [];
    const index = new SearchIndex({ index: 'none', property: 'name' }, dataSource, logger);
    const connect = vi.spyOn(poolOf(dataSource)!, 'connectApart');
    connect.mockRejectedValueOnce(new Error('out of reach'));
    index.note([{ name: ENOUGH }]);
    await turn();
    expect(connect).toHaveBeenCalledOnce();
    const later = performance.now() + RETRY;
    const now = vi.spyOn(performance, 'now').mockReturnValue(later);
    index.note([{ name: 'x' }]);
    now.mockRestore();
    await vi.waitFor(() => expect(lines).toHaveLength(1), PATIENCE);
    expect(connect).toHaveBeenCalledTimes(2);
    connect.mockRestore();
    await index.close();
  });
});

describe('the letters of a database', () => {
  it('are not looked at if it has no pg_trgm', async () => {
    lines = [];
    const empty = await createTestDatabase();
    const source = await createDataSource(empty.url).initialize();
    await checkLetters(source, logger);
    expect(lines).toEqual([]);
    await source.destroy();
    await empty.drop();
  });
});
