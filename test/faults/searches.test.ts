import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FaultyLink } from '../support/faulty-link.js';
import { searchStatement } from '../support/search-statement.js';
import { ONLY_REQUESTS, serviceForTest, startTestService } from '../support/test-service.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { Answer, TestService } from '../support/test-service.js';

/** Creates, look-ups and other reads have two connections, and all searches together one. */
const POOL = { DATABASE_POOL_MAX: '3' };

/** A text for which PostgreSQL tries 199 letters at each letter of a slow name, and finds nothing. */
const SLOW = 'a'.repeat(199) + 'c';

const CHANGES = 300;

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ environment: POOL });
});

afterAll(() => service.stop());

function search(text: string, from: TestService = service): Promise<Answer> {
  return from.request('GET', `/plants?name=${encodeURIComponent(text)}`);
}

describe('a search by name', () => {
  // Names that have all trigrams of the text, but not the text. A search takes more than the statement timeout.
  beforeAll(() =>
    service.database.query(
      "INSERT INTO plants SELECT n, 'aac' || repeat('a', 4000) FROM generate_series(1, 24000) AS n",
    ),
  );

  it('that takes too long in a database that answers others is refused, with the advice to narrow it', async () => {
    expect(await search(SLOW)).toMatchObject({
      status: 400,
      text: '{"error":40005,"message":"the search takes too long: search for a longer or rarer text, or use another filter as well"}',
    });
  });

  it('that takes too long in a slow database can be repeated', async () => {
    const link = await FaultyLink.to(service.database.url);
    onTestFinished(() => link.close());
    const database = { ...service.database, url: link.url };
    const slow = await serviceForTest({ environment: { ...POOL, ...ONLY_REQUESTS }, database });
    // They leave connections: a new one would take several times as long as the link delays, and the search can cost one.
    const paths = ['/plants/1', '/plants?limit=1', '/plants?limit=1&sort=tag'];
    await Promise.all(paths.map((path) => slow.request('GET', path)));
    expect((await slow.request('GET', '/plants/1')).status).toBe(200);
    link.poison({ kind: 'latency', milliseconds: 200, jitter: 0 });
    onTestFinished(() => link.cure());
    const answer = await search(SLOW, slow);
    expect(answer).toMatchObject({ status: 503, json: { error: 50305 } });
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  it('leaves connections to creates, look-ups and lists, however many searches are slow', async () => {
    const ended: unknown[] = [];
    const searches = Array.from({ length: 10 }, async () => {
      ended.push((await search(SLOW)).json['error']);
    });
    for (let id = 100_000; ended.length < searches.length; id += 1) {
      expect((await service.post({ id, name: 'Aloe' })).status).toBe(200);
      expect((await service.request('GET', `/plants/${id}`)).status).toBe(200);
    }
    await Promise.all(searches);
    expect(new Set(ended)).toEqual(new Set([40005, 42901]));
  });
});

describe('a search by name', () => {
  beforeEach(() => service.database.empty());

  it('does not read the whole of names of hundreds of kilobytes', async () => {
    await service.database.query(
      "INSERT INTO plants SELECT n, 'Monstera ' || repeat(md5(n::text), 28000) FROM generate_series(1, 350) AS n",
    );
    // Half a megabyte of each name would have to be read: more than the statement timeout in all.
    const answers = await Promise.all(Array.from({ length: 4 }, () => search('Monstera deli')));
    for (const { status, text } of answers) expect([status, text]).toEqual([200, '[]']);
    expect((await search('monstera')).status).toBe(200);
  });

  it('finds a plant that matches all the time, while its name changes', async () => {
    await service.post({ id: 1, name: 'a needle' });
    const changed: string[] = [];
    const changes = async () => {
      while (changed.length < CHANGES) {
        const name = `${'a'.repeat(changed.length % 2 === 0 ? 1_500 : 500)} needle`;
        const body = JSON.stringify({ name });
        const headers = { 'Content-Type': 'application/json' };
        expect((await service.request('PUT', '/plants/1', { headers, body })).status).toBe(200);
        changed.push(name);
      }
    };
    const searches = async () => {
      while (changed.length < CHANGES) expect((await search('needle')).json).toHaveLength(1);
    };
    await Promise.all([changes(), searches(), searches()]);
  });

  it('looks at the first 4,000 characters of a name', async () => {
    await service.post({ id: 1, name: `${'a'.repeat(3_994)}needle` });
    await service.post({ id: 2, name: `${'a'.repeat(3_995)}needle` });
    expect((await search('needle')).text).toMatch(/^\[\{"id":1,[^[]*\]$/);
  });
});

describe('the index of searches', () => {
  beforeEach(() => service.database.empty());

  const warnings = ({ log }: TestService) =>
    log.filter(({ msg }) =>
      String(msg).startsWith('searches for names that are not ASCII are slow'),
    );

  it('finds a rare word in the letters of any language', async () => {
    await service.database.query(
      `INSERT INTO plants SELECT n, 'Дерево ' || n || CASE n WHEN 4321 THEN ' яблоко' ELSE ' сосна' END
         FROM generate_series(1, 20000) AS n`,
    );
    await service.database.query('VACUUM ANALYZE plants');
    expect((await search('ЯБЛОКО')).json).toMatchObject([{ id: 4321 }]);
    const { text, values } = searchStatement('ЯБЛОКО');
    const plan = await service.database.query(`EXPLAIN ANALYZE ${text}`, values);
    const steps = plan.map((row) => row['QUERY PLAN']).join('\n');
    expect(steps).toContain('plants_name_search_idx');
    // Without trigrams, the index finds all plants.
    expect(steps).not.toMatch(/Rows Removed by .*: \d{3}/);
  });

  it.each([
    ['', 'SELECT'],
    [
      ' also if its schema is not in the search path',
      'CREATE SCHEMA apart; CREATE EXTENSION pg_trgm SCHEMA apart',
    ],
  ])('is reported at the start where it has only letters of ASCII%s', async (_, statements) => {
    expect(warnings(service)).toEqual([]);
    const database = await createTestDatabase(
      "LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
    );
    onTestFinished(() => database.drop());
    await database.query(statements);
    const blind = await serviceForTest({ database });
    expect(warnings(blind)).toMatchObject([{ level: 40, lcCtype: 'C' }]);
    await blind.post({ id: 1, name: 'Яблоко' });
    expect((await search('яблоко', blind)).json).toMatchObject([{ id: 1 }]);
  });
});
