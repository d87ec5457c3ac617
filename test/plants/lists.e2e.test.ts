import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { idsOf, nextOf, pagesOf, storePlants } from '../support/plant-pages.js';
import type { Row } from '../support/plant-pages.js';
import { startTestService } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

const get = (path: string): Promise<Answer> => service.request('GET', path);

/** Stores plants below the interface. */
const store = (...plants: readonly Row[]) => storePlants(service, plants);

/** The ids of all pages, page by page. */
const pagesFrom = (path: string) => pagesOf(service, path);

/** Each value is refused with a message. */
function refuses(cases: readonly (readonly [query: string, message: string])[]): void {
  it.each(cases)('refuses ?%.60s: %s', async (query, message) => {
    const answer = await get(`/plants?${query}`);
    expect(answer).toMatchObject({ status: 400, json: { error: 40004, message } });
  });
}

describe('ids of GET /plants', () => {
  const NOT_IDS = `ids must be at most 100 ids, separated by commas; each of them must be an integer between ${MIN} and ${MAX}, as digits without leading zeros`;

  it('finds the plants that exist, in ascending order, digit for digit', async () => {
    await store([MIN, 'a'], [7, 'b'], [9007199254740993n, 'c'], [MAX, 'd'], [8, 'e']);
    const ids = [MAX, 7, 404, MIN, 9007199254740993n, 7].join();
    const answer = await get(`/plants?ids=${ids}`);
    expect(idsOf(answer)).toEqual([MIN, 7, 9007199254740993n, MAX].map(String));
    expect(nextOf(answer)).toBeUndefined();
    expect((await get('/plants?ids=404')).text).toBe('[]');
    expect(idsOf(await get('/plants?ids=7%2C8'))).toEqual(['7', '8']);
  });

  it('leads over a hundred plants page by page, with the filters', async () => {
    await store(...Array.from({ length: 200 }, (_, id) => [id, 'a', `${id % 2}`] as const));
    const ids = Array.from({ length: 100 }, (_, at) => String(2 * at + (at < 50 ? 0 : 1)));
    const pages = await pagesFrom(`/plants?ids=${ids.toReversed().join()}`);
    expect(pages).toEqual([ids.slice(0, 50), ids.slice(50)]);
    const odd = await pagesFrom(`/plants?limit=20&tag=1&ids=${ids.join()}`);
    expect(odd.map(({ length }) => length)).toEqual([20, 20, 10]);
    expect(odd.flat()).toEqual(ids.slice(50));
    expect(idsOf(await get(`/plants?after=98&ids=${ids.join()}`))).toEqual(ids.slice(50));
    expect(nextOf(await get('/plants?limit=1&ids=5,1,3'))).toBe('/plants?limit=1&ids=5,3&after=1');
  });

  it('finds a hundred of the longest ids', async () => {
    const ids = Array.from({ length: 100 }, (_, n) => MIN + BigInt(n));
    await store(...ids.map((id) => [id, 'a'] as const));
    expect((await pagesFrom(`/plants?ids=${ids.join()}`)).flat()).toEqual(ids.map(String));
  });

  it.each(['ids=1&ids=3&ids=5', 'ids=1,3&ids=5', 'ids=5&limit=50&ids=1,3', 'ids=1,3,5'])(
    'takes a parameter for each id as well as a list: %s',
    async (query) => {
      await store([1n, 'a'], [2n, 'a'], [3n, 'a'], [5n, 'a']);
      expect(idsOf(await get(`/plants?${query}`))).toEqual(['1', '3', '5']);
      expect(nextOf(await get(`/plants?limit=1&${query.replace('limit=50&', '')}`))).toMatch(
        /^\/plants\?limit=1&ids=(3,5|5,3)&after=1$/,
      );
    },
  );

  it('takes up to a hundred parameters', async () => {
    await store([7n, 'a']);
    const query = Array.from({ length: 100 }, (_, id) => `ids=${id}`).join('&');
    expect(idsOf(await get(`/plants?limit=100&${query}`))).toEqual(['7']);
  });

  refuses([
    ...['', 'x', '1,', ',1', '1,,2', '1, 2', '1.0', '01', `1,${MAX + 1n}`].map(
      (ids) => [`ids=${ids}`, NOT_IDS] as const,
    ),
    [`ids=${Array.from({ length: 101 }, (_, id) => id).join()}`, NOT_IDS],
    [`ids=${','.repeat(3_000)}`, NOT_IDS],
    ['ids=1&ids=x', NOT_IDS],
    ['ids=1&ids=', NOT_IDS],
    [
      `ids=${Array.from({ length: 60 }, (_, id) => id).join()}&ids=${Array.from({ length: 41 }, (_, id) => id).join()}`,
      NOT_IDS,
    ],
    [Array.from({ length: 101 }, (_, id) => `ids=${id}`).join('&'), NOT_IDS],
    ['ids=1&ids=2&limit=1&limit=1', 'limit must not be given twice'],
    [
      `limit=1&ids=${Array.from({ length: 100 }, (_, n) => MIN + BigInt(n)).join()}`,
      'limit is too small for so many ids: the link to the next page would be too long',
    ],
  ]);

  it('is no parameter of an export', async () => {
    expect(await get('/plants/export?ids=1')).toMatchObject({
      status: 400,
      json: { error: 40004, message: 'there is no parameter "ids"' },
    });
  });
});

const TAGS = [
  undefined,
  '',
  'null',
  '"',
  'a',
  'B',
  'a&b=c>d',
  '%00',
  'Ä',
  '月',
  '\uFFFD',
  '🌵',
  '\u0001',
  `${'a'.repeat(100)}x`,
  `${'🌵'.repeat(100)}y`,
];

interface Plant {
  readonly id: bigint;
  readonly tag: string | undefined;
}

/** As it is documented: by the code points of the first 100 characters, then by id, and plants without a tag at the end. */
function inOrder<P extends Plant>(plants: readonly P[], sort: string): P[] {
  const direction = sort.startsWith('-') ? -1 : 1;
  const startOf = (tag: string) => Buffer.from(Array.from(tag).slice(0, 100).join(''));
  return plants.toSorted(({ id, tag }, other) => {
    if (sort.endsWith('tag')) {
      if (tag === undefined && other.tag !== undefined) return 1;
      if (tag !== undefined && other.tag === undefined) return -1;
      const compared =
        tag === undefined || other.tag === undefined
          ? 0
          : Buffer.compare(startOf(tag), startOf(other.tag));
      if (compared !== 0) return direction * compared;
    }
    return direction * (id < other.id ? -1 : 1);
  });
}

const plant = fc.record({
  id: fc.oneof(fc.bigInt({ min: MIN, max: MAX }), fc.bigInt({ min: -9n, max: 9n })),
  tag: fc.constantFrom(...TAGS),
  name: fc.constantFrom('Aloe vera', 'Ficus'),
});
const plants = (maxLength: number) =>
  fc.uniqueArray(plant, { selector: ({ id }) => id, maxLength });
const sorts = fc.constantFrom('id', '-id', 'tag', '-tag');

describe('sort of GET /plants', () => {
  it('leads from page to page in the order, with the filters, over every plant once', async () => {
    await fc.assert(
      fc.asyncProperty(
        plants(20),
        fc.integer({ min: 1, max: 7 }),
        sorts,
        fc.option(fc.constantFrom(...TAGS.slice(1, 7)), { nil: undefined }),
        fc.option(fc.constantFrom('ALOE', 'icu'), { nil: undefined }),
        async (all, limit, sort, tag, word) => {
          await service.database.empty();
          await store(...all.map(({ id, name, tag: own }) => [id, name, own] as const));
          const filters = Object.entries({ tag, name: word }).filter(
            (filter): filter is [string, string] => filter[1] !== undefined,
          );
          const query = new URLSearchParams([['limit', `${limit}`], ['sort', sort], ...filters]);
          const pages = await pagesFrom(`/plants?${query.toString()}`);
          const wanted = all
            .filter((one) => tag === undefined || one.tag === tag)
            .filter(({ name }) => name.toUpperCase().includes(word?.toUpperCase() ?? ''));
          expect(pages.flat()).toEqual(inOrder(wanted, sort).map(({ id }) => String(id)));
          for (const page of pages.slice(0, -1)) expect(page).toHaveLength(limit);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('repeats no plant and leaves none out when others are removed and added meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(
        plants(25),
        fc.integer({ min: 1, max: 4 }),
        sorts,
        fc.infiniteStream(fc.boolean()),
        async (all, limit, sort, choices) => {
          await service.database.empty();
          const [kept, added] = [
            all.filter((_, at) => at % 3 > 0),
            all.filter((_, at) => at % 3 === 0),
          ];
          await store(...kept.map(({ id, name, tag }) => [id, name, tag] as const));
          const removed = new Set<string>();
          const found: string[] = [];
          let next: string | undefined = `/plants?limit=${limit}&sort=${sort}`;
          while (next !== undefined) {
            const answer: Answer = await get(next);
            found.push(...idsOf(answer));
            next = nextOf(answer);
            // Often the last plant of the page, at which the next one begins.
            const [last] = choices.next().value ? idsOf(answer).slice(-1) : [];
            if (last !== undefined) {
              removed.add(last);
              await service.database.query('DELETE FROM plants WHERE id = $1', [last]);
            }
            const one = choices.next().value ? added.pop() : undefined;
            if (one !== undefined) await store([one.id, one.name, one.tag]);
          }
          expect(new Set(found).size).toBe(found.length);
          const seen = found.filter((id) => kept.some((one) => String(one.id) === id));
          expect(seen).toEqual(inOrder(kept, sort).map(({ id }) => String(id)));
        },
      ),
      { numRuns: 20 },
    );
  });

  it.each(['id', '-id', 'tag', '-tag'])(
    'goes on by %s where it was when the last plant changes',
    async (sort) => {
      await store([1, 'a', 'x'], [2, 'b', 'x'], [3, 'c', 'y'], [4, 'd'], [5, 'e']);
      const all = idsOf(await get(`/plants?sort=${sort}`));
      for (const at of [1, 2, 3]) {
        const first = await get(`/plants?sort=${sort}&limit=${at}`);
        await service.database.query(
          `UPDATE plants SET tag = CASE WHEN tag IS NULL THEN 'a' END WHERE id = $1`,
          [idsOf(first).at(-1)],
        );
        const rest = idsOf(await get(nextOf(first)!.replace(/limit=\d+/, 'limit=50')));
        const moved = idsOf(first).at(-1);
        expect(rest.filter((id) => id !== moved)).toEqual(all.slice(at));
        await service.database.query(
          `UPDATE plants SET tag = CASE WHEN id < 3 THEN 'x' WHEN id = 3 THEN 'y' END`,
        );
      }
    },
  );

  it('has the same plants on pages that arrive together', async () => {
    await store(...Array.from({ length: 100 }, (_, id) => [id, 'a', `${id % 7}`] as const));
    const ids = Array.from({ length: 100 }, (_, id) => String(id)).toReversed();
    const afters = Array.from({ length: 40 }, (_, at) => at * 2);
    const answers = await Promise.all(
      afters.flatMap((after) => [
        get(`/plants?sort=-id&limit=5&after=${after}`),
        get(`/plants?limit=5&after=${after}`),
        get(`/plants?sort=-id&tag=3&limit=5&after=${after}`),
      ]),
    );
    for (const [at, after] of afters.entries()) {
      const [down, up, tagged] = answers.slice(3 * at, 3 * at + 3).map(idsOf);
      expect(down).toEqual(ids.filter((id) => Number(id) < after).slice(0, 5));
      expect(up).toEqual(
        ids
          .toReversed()
          .filter((id) => Number(id) > after)
          .slice(0, 5),
      );
      const wanted = ids.filter((id) => Number(id) < after && Number(id) % 7 === 3);
      expect(tagged).toEqual(wanted.slice(0, 5));
    }
  });

  it('has shorter pages where plants are long', async () => {
    const long = 'a'.repeat(1_000_000);
    await store(
      ...Array.from(
        { length: 12 },
        (_, id) => [id, long, id % 3 ? `${id % 3}` : undefined] as const,
      ),
    );
    for (const [sort, ids] of [
      ['-id', [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]],
      ['tag', [1, 4, 7, 10, 2, 5, 8, 11, 0, 3, 6, 9]],
      ['-tag', [11, 8, 5, 2, 10, 7, 4, 1, 9, 6, 3, 0]],
    ] as const) {
      const pages = await pagesFrom(`/plants?limit=1000&sort=${sort}`);
      expect(pages.flat()).toEqual(ids.map(String));
      expect(Math.max(...pages.map(({ length }) => length))).toBeLessThan(7);
    }
  });

  it('stores tags of any length', async () => {
    const tag = Array.from({ length: 20_000 }, (_, n) =>
      String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000)),
    ).join('');
    expect((await service.post({ id: 1, name: 'a', tag })).status).toBe(200);
    expect(idsOf(await get('/plants?sort=tag'))).toEqual(['1']);
  });

  it('has a Link that is short enough for every proxy', async () => {
    const everything = await startTestService({
      environment: {
        PUBLIC_BASE_URL: 'https://shop.example.com/a-path-of-the-ingress',
        CORS_ORIGINS: 'https://shop.example.com',
        RATE_LIMIT: '1000000',
      },
    });
    const [shorter, name] = ['🌵'.repeat(116), '🌵'.repeat(166)];
    const tag = '🌵'.repeat(20_000);
    await everything.database.query(
      'INSERT INTO plants (id, name, tag) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])',
      [
        [String(MIN), String(MIN + 1n)],
        [name, name],
        [tag, tag],
      ],
    );
    const page = (path: string) =>
      everything.request('GET', path, {
        headers: { Origin: 'https://shop.example.com', 'X-Request-Id': 'a'.repeat(128) },
      });
    // The longest filters that are accepted, and the longest value.
    for (const query of [`sort=-id&name=${name}`, `sort=-tag&name=${shorter}`]) {
      const answer = await page(encodeURI(`/plants?limit=1&count=true&${query}`));
      const fields = [...answer.headers].map((field) => field.join(': '));
      expect(idsOf(answer)).toEqual([String(MIN + 1n)]);
      expect(`HTTP/1.1 200 OK\r\n${fields.join('\r\n')}\r\n\r\n`.length).toBeLessThan(4_096);
      const next = nextOf(answer)!.replace('/a-path-of-the-ingress', '');
      expect(idsOf(await page(next))).toEqual([String(MIN)]);
    }
    await everything.stop();
  });

  it('begins at any id and value, of a plant or not', async () => {
    await store([1, 'a', 'x'], [2, 'b', 'y'], [3, 'c']);
    const from = async (query: string) => idsOf(await get(`/plants?${query}`));
    expect(await from('sort=tag&after=0&afterValue=%22x%22')).toEqual(['1', '2', '3']);
    expect(await from('sort=tag&after=1&afterValue=%22x%22')).toEqual(['2', '3']);
    expect(await from('sort=tag&after=0&afterValue=7')).toEqual(['1', '2', '3']);
    expect(await from('sort=tag&after=9&afterValue=%22xx%22')).toEqual(['2', '3']);
    expect(await from('sort=-tag&after=9&afterValue=%22xx%22')).toEqual(['1', '3']);
    expect(await from('sort=tag&after=2&afterValue=null')).toEqual(['3']);
    expect(await from('sort=-tag&after=3&afterValue=null')).toEqual([]);
    expect(await from('sort=-tag&after=9&afterValue=%22null%22')).toEqual(['3']);
    expect(await from(`sort=-id&after=${MIN}`)).toEqual([]);
    expect(await from('sort=id')).toEqual(['1', '2', '3']);
  });

  const ONE_WITHOUT_OTHER =
    'after and afterValue must be given together for the order of a column, as the link to the next page has them';
  const NOT_JSON = 'afterValue must be a text, a number, a boolean or null in JSON';
  refuses([
    ...['name', '', '--id', 'ID', 'tag,id', '+id'].map(
      (sort) => [`sort=${sort}`, 'sort must be one of id, -id, tag, -tag'] as const,
    ),
    ['sort=id&sort=-id', 'sort must not be given twice'],
    ['sort=tag&after=1', ONE_WITHOUT_OTHER],
    ['sort=-tag&afterValue=%22x%22', ONE_WITHOUT_OTHER],
    ['after=1&afterValue=1', 'afterValue needs an order by another column than the id'],
    ['sort=-id&after=1&afterValue=1', 'afterValue needs an order by another column than the id'],
    ...['x', '', '%22', '[]', '%7B%7D', '%22%5Cu0000%22', '%22%5Cud800%22'].map(
      (value) => [`sort=tag&after=1&afterValue=${value}`, NOT_JSON] as const,
    ),
    ['sort=tag&ids=1', 'sort must be id or -id for a list of ids'],
    [
      `sort=tag&name=${encodeURIComponent('🌵'.repeat(117))}`,
      'sort must be id or -id for filters of more than 1400 bytes together, percent-encoded',
    ],
  ]);

  it.each(['sort=id', 'sort=tag', 'afterValue=null'])(
    'is no parameter of an export: %s',
    async (query) => {
      const answer = await get(`/plants/export?${query}`);
      expect(answer).toMatchObject({ status: 400, json: { error: 40004 } });
    },
  );

  it('of ids can be descending', async () => {
    await store([1, 'a'], [2, 'b'], [3, 'c']);
    const pages = await pagesFrom('/plants?sort=-id&limit=2&ids=1,3,2,9');
    expect(pages).toEqual([['3', '2'], ['1']]);
  });
});

describe('count of GET /plants', () => {
  const countOf = ({ headers }: Answer) => [
    headers.get('x-total-count'),
    headers.get('x-total-count-exact'),
  ];

  const storeMany = (count: number, tag = 'NULL') =>
    service.database.query(
      `INSERT INTO plants SELECT n, 'Plant ' || n, ${tag} FROM generate_series(1, ${count}) AS n`,
    );

  it('says how many plants match, whatever the page is', async () => {
    await storeMany(60, "CASE WHEN n % 2 = 0 THEN 'even' END");
    for (const [query, count] of [
      ['', '60'],
      ['&limit=3&after=40', '60'],
      [`&after=${MAX}`, '60'],
      ['&sort=-tag&limit=1', '60'],
      ['&tag=even', '30'],
      ['&tag=even&after=58&sort=-id', '30'],
      ['&name=plant%201', '11'],
      ['&name=plant%201&tag=even', '5'],
      ['&ids=1,2,3,404', '3'],
      ['&ids=1,2,3,404&tag=even', '1'],
      ['&tag=odd', '0'],
    ] as const) {
      const answer = await get(`/plants?count=true${query}`);
      expect([query, ...countOf(answer)]).toEqual([query, count, 'true']);
    }
  });

  it('is not made unless it is asked for, and once', async () => {
    await storeMany(3);
    for (const query of ['', '&count=false']) {
      expect(countOf(await get(`/plants?limit=1${query}`))).toEqual([null, null]);
    }
    const first = await get('/plants?limit=1&count=true');
    expect(countOf(first)).toEqual(['3', 'true']);
    expect(nextOf(first)).toBe('/plants?limit=1&after=1');
  });

  it('is exact up to 10,000', async () => {
    await storeMany(10_000, "'x'");
    expect(countOf(await get('/plants?count=true&limit=1'))).toEqual(['10000', 'true']);
    await service.database.query("INSERT INTO plants VALUES (0, 'Plant 0', 'x')");
    for (const query of ['', '&tag=x', '&name=plant']) {
      const [count, isExact] = countOf(await get(`/plants?count=true&limit=1${query}`));
      expect(Number(count)).toBeGreaterThan(10_000);
      expect(isExact).toBe('false');
    }
  });

  it('is what the planner expects of more than 10,000', async () => {
    await storeMany(60_000, "CASE WHEN n % 3 > 0 THEN 'two thirds' WHEN n < 300 THEN 'few' END");
    await service.database.query('ANALYZE plants');
    for (const [query, expected] of [
      ['', 60_000],
      ['&tag=two%20thirds', 40_000],
      ['&name=plant', 60_000],
    ] as const) {
      const [count, isExact] = countOf(await get(`/plants?count=true&limit=1${query}`));
      expect(Number(count)).toBeGreaterThan(0.8 * expected);
      expect(Number(count)).toBeLessThan(1.2 * expected);
      expect(isExact).toBe('false');
    }
    expect(countOf(await get('/plants?count=true&tag=few'))).toEqual(['99', 'true']);
  });

  it('can be read by web pages of other origins', async () => {
    const open = await startTestService({
      environment: { CORS_ORIGINS: 'https://shop.example.com' },
    });
    const answer = await open.request('GET', '/plants?count=true', {
      headers: { Origin: 'https://shop.example.com' },
    });
    const exposed = answer.headers.get('access-control-expose-headers')?.split(',');
    expect(exposed).toEqual(expect.arrayContaining(['X-Total-Count', 'X-Total-Count-Exact']));
    await open.stop();
  });

  refuses(
    ['1', '', 'TRUE', 'yes'].map((count) => [`count=${count}`, 'count must be true or false']),
  );

  it('is no parameter of an export', async () => {
    const answer = await get('/plants/export?count=true');
    expect(answer).toMatchObject({ status: 400, json: { error: 40004 } });
  });
});
