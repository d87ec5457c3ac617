import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { idsOf, nextOf, pagesOf, storePlants } from '../support/plant-pages.js';
import type { Row } from '../support/plant-pages.js';
import { startTestService, TOKEN, unlessBusy } from '../support/test-service.js';
import type { Answer, RequestOptions, TestService } from '../support/test-service.js';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

const JSON_TYPE = { 'Content-Type': 'application/json' };
const MERGE_PATCH = { 'Content-Type': 'application/merge-patch+json' };

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

function get(path: string, options?: RequestOptions): Promise<Answer> {
  return service.request('GET', path, options);
}

/** Stores plants below the interface. */
const store = (...plants: readonly Row[]) => storePlants(service, plants);

async function stored(): Promise<unknown[]> {
  return service.database.query('SELECT id, name, tag FROM plants ORDER BY id');
}

const NOT_A_LIMIT = 'limit must be an integer between 1 and 1000';

const NOT_A_NAME = 'name must have 3 to 200 characters';

const NOT_INT64 =
  'after must be an integer between -9223372036854775808 and 9223372036854775807, as digits without leading zeros';

const FILTERS_TOO_LONG = 'tag and name together must have at most 2000 bytes, percent-encoded';

/** The ids of all pages, page by page. */
const pagesFrom = (path: string) => pagesOf(service, path);

describe('GET /plants', () => {
  it('answers an empty store with an empty array', async () => {
    const answer = await get('/plants');
    expect(answer).toMatchObject({ status: 200, text: '[]' });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.get('link')).toBeNull();
  });

  it('answers with plants in ascending order of their ids, digit for digit', async () => {
    await store([7, 'Ficus'], [MAX, 'Aloe', ''], [-1, '', 'indoor'], [MIN, '月下美人']);
    expect((await get('/plants')).text).toBe(
      `[{"id":${MIN},"name":"月下美人"},{"id":-1,"name":"","tag":"indoor"},{"id":7,"name":"Ficus"},{"id":${MAX},"name":"Aloe","tag":""}]`,
    );
  });

  it('has pages of 50 plants, unless there is a limit', async () => {
    await store(...Array.from({ length: 101 }, (_, id) => [id, 'a'] as const));
    expect((await pagesFrom('/plants')).map(({ length }) => length)).toEqual([50, 50, 1]);
    expect((await pagesFrom('/plants?limit=101')).map(({ length }) => length)).toEqual([101]);
    expect((await pagesFrom('/plants?limit=1000')).map(({ length }) => length)).toEqual([101]);
    const single = await pagesFrom('/plants?limit=1&after=97');
    expect(single).toEqual([['98'], ['99'], ['100']]);
  });

  it('leads from page to page with the same filters, over every plant once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(
          fc.record({
            id: fc.oneof(fc.bigInt({ min: MIN, max: MAX }), fc.bigInt({ min: -9n, max: 9n })),
            tag: fc.constantFrom('a&b=c>d', '月', ''),
            name: fc.constantFrom('Aloe vera', 'aloe Arborescens', 'Ficus'),
          }),
          { selector: ({ id }) => id, maxLength: 20 },
        ),
        fc.integer({ min: 1, max: 7 }),
        fc.option(fc.constantFrom('a&b=c>d', '月', ''), { nil: undefined }),
        fc.option(fc.constantFrom('ALOE', 'icu'), { nil: undefined }),
        async (plants, limit, tag, word) => {
          await service.database.empty();
          await store(...plants.map(({ id, name, tag: own }) => [id, name, own] as const));
          const filters = Object.entries({ tag, name: word }).flatMap(
            ([key, value]): [string, string][] => (value === undefined ? [] : [[key, value]]),
          );
          const query = new URLSearchParams([['limit', String(limit)], ...filters]);
          const pages = await pagesFrom(`/plants?${query.toString()}`);
          const wanted = plants
            .filter((plant) => tag === undefined || plant.tag === tag)
            .filter((plant) => plant.name.toUpperCase().includes(word?.toUpperCase() ?? ''))
            .map(({ id }) => id)
            .toSorted((one, other) => (one < other ? -1 : 1));
          expect(pages.flat()).toEqual(wanted.map(String));
          for (const page of pages.slice(0, -1)) expect(page).toHaveLength(limit);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('respects the prefix in the Link', async () => {
    const prefixed = await startTestService({
      environment: { PUBLIC_BASE_URL: 'https://shop.example.com/api' },
    });
    for (const id of [1, 2]) await prefixed.post({ id, name: 'a' });
    const answer = await prefixed.request('GET', '/plants?limit=1');
    expect(answer.headers.get('link')).toBe('</api/plants?limit=1&after=1>; rel="next"');
    await prefixed.stop();
  });

  it.each([
    ...['0', '1001', '-1', '1.5', '1e2', '', 'x'].map((limit) => [`limit=${limit}`, NOT_A_LIMIT]),
    ['limit=1&limit=2', 'limit must not be given twice'],
    ...['x', '1.0', String(MAX + 1n)].map((after) => [`after=${after}`, NOT_INT64]),
    ['tag=a&tag=b', 'tag must not be given twice'],
    ['tag=%00', 'tag must not contain U+0000 or unpaired surrogates'],
    ...['ab', '%F0%9F%8C%B5%F0%9F%8C%B5', '', 'a'.repeat(201)].map((name) => [
      `name=${name}`,
      NOT_A_NAME,
    ]),
    [`tag=${'a'.repeat(1_997)}`, FILTERS_TOO_LONG],
    [`tag=${'%E8%8A%B1'.repeat(222)}`, FILTERS_TOO_LONG],
    [`name=${'%F0%9F%8C%B5'.repeat(167)}`, FILTERS_TOO_LONG],
    [`tag=${'a'.repeat(1_900)}&name=${'a'.repeat(91)}`, FILTERS_TOO_LONG],
    [`${'&'.repeat(1000)}tags=x`, 'there is no parameter "tags"'],
    ['Limit=1', 'there is no parameter "Limit"'],
    ['tags=indoor', 'there is no parameter "tags"'],
    ['__proto__=1', 'there is no parameter "__proto__"'],
    ['tag=%FF', 'the query is not percent-encoded UTF-8'],
    ['tag=%', 'the query is not percent-encoded UTF-8'],
    ['limit=0&after=x', `${NOT_A_LIMIT}; ${NOT_INT64}`],
  ])('refuses ?%s', async (query, message) => {
    const answer = await get(`/plants?${query}`);
    expect(answer).toMatchObject({ status: 400, json: { error: 40004, message } });
  });

  it.each([
    [`tag=${'a'.repeat(1_996)}`],
    [`tag=${'%E8%8A%B1'.repeat(221)}`],
    [`name=${'a'.repeat(200)}`],
    [`name=${'%F0%9F%8C%B5'.repeat(166)}`],
    [`tag=${'a'.repeat(1_900)}&name=${'a'.repeat(90)}`],
  ])('takes long filters, and leads on with them: ?%s', async (query) => {
    const tag = new URLSearchParams(query).get('tag');
    const name = new URLSearchParams(query).get('name') ?? 'x';
    const matching = (id: number): [number, string, string?] =>
      tag === null ? [id, name] : [id, name, tag];
    await store(matching(1), matching(2), [3, 'other']);
    expect((await pagesFrom(`/plants?limit=1&${query}`)).flat()).toEqual(['1', '2']);
  });

  it('has shorter pages where plants are long, and leads over every plant once', async () => {
    const long = 'a'.repeat(1_000_000);
    await store(...Array.from({ length: 12 }, (_, id) => [id, long, 'x'] as const), [12, 'short']);
    const ids = Array.from({ length: 13 }, (_, id) => String(id));
    const all = await pagesFrom('/plants?limit=1000');
    expect(all.flat()).toEqual(ids);
    expect(Math.max(...all.map(({ length }) => length))).toBeLessThan(7);
    expect((await pagesFrom('/plants?tag=x')).flat()).toEqual(ids.slice(0, -1));
    expect((await pagesFrom('/plants?name=AAA')).flat()).toEqual(ids.slice(0, -1));
  });

  it('merges long and short names that match', async () => {
    const long = `${'a'.repeat(1000)}needle`;
    await store([1, 'needle'], [2, long], [3, 'needle'], [4, 'x'], [5, long], [6, 'needle']);
    const found = ['1', '2', '3', '5', '6'];
    for (const limit of [1, 2, 3, 5, 50]) {
      const pages = await pagesFrom(`/plants?name=needle&limit=${limit}`);
      expect(pages.flat()).toEqual(found);
    }
  });

  it.each([
    ['frequent', "CASE WHEN n <= 2000 THEN 'x' ELSE 'y' END", 'tag=x&after=1995', 5, 'pkey', 100],
    // More tags than the statistics have, so no tag is among the most frequent values. Each has 100 plants.
    ['rare', "'tag ' || n % 1000", 'tag=tag%207&limit=10', 10, 'tag_idx', 90],
  ])(
    'reads no more than a page of a tag that the planner expects to be %s',
    async (_, tag, query, length, index, most) => {
      await service.database.query(
        `INSERT INTO plants SELECT n, 'Plant', ${tag} FROM generate_series(1, 100000) AS n`,
      );
      await service.database.query('ANALYZE plants');
      const reads = async (name: string) => {
        const [row] = await service.database.query(
          'SELECT idx_tup_read::int AS n FROM pg_stat_user_indexes WHERE indexrelname = $1',
          [`plants_${name}`],
        );
        return Number(row?.['n']);
      };
      const [before, ofTag] = [await reads(index), await reads('tag_idx')];
      expect(idsOf(await get(`/plants?${query}`))).toHaveLength(length);
      // Sessions report at most once in a second, after a statement.
      await vi.waitFor(async () => {
        await get('/plants/404');
        expect(await reads('tag_idx')).toBeGreaterThan(ofTag);
      }, PATIENCE);
      // Reads of earlier tests may be reported meanwhile, too.
      expect((await reads(index)) - before).toBeLessThan(most);
    },
  );

  it('has the right plants on each of many pages that are asked for together', async () => {
    const tags = ['indoor', 'desert', undefined];
    const plants = Array.from({ length: 300 }, (_, id) => ({ id, tag: tags[id % 3] }));
    const rows = plants.map(({ id, tag }) =>
      tag === undefined ? ([id, 'a'] as const) : ([id, 'a', tag] as const),
    );
    await store(...rows);
    // Its page is longer than its share of the bytes of a statement.
    await store([300, 'a'.repeat(900_000), 'indoor']);
    const all = [...plants, { id: 300, tag: 'indoor' }];
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            limit: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constantFrom(299, 1_000)),
            after: fc.integer({ min: -1, max: 300 }),
            tag: fc.constantFrom(...tags),
          }),
          { minLength: 1, maxLength: 40 },
        ),
        async (pages) => {
          const answers = await Promise.all(
            pages.map(({ limit, after, tag }) =>
              unlessBusy(() =>
                get(
                  `/plants?limit=${limit}&after=${after}${tag === undefined ? '' : `&tag=${tag}`}`,
                ),
              ),
            ),
          );
          for (const [at, { limit, after, tag }] of pages.entries()) {
            const wanted = all
              .filter((plant) => plant.id > after && (tag === undefined || plant.tag === tag))
              .slice(0, limit);
            expect(idsOf(answers[at]!)).toEqual(wanted.map(({ id }) => String(id)));
            const isLast =
              wanted.at(-1)?.id ===
              all.findLast((plant) => tag === undefined || plant.tag === tag)?.id;
            expect(nextOf(answers[at]!) === undefined).toBe(isLast || wanted.length === 0);
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  it('finds a tag exactly, however long it is', async () => {
    const long = '🌵'.repeat(10_000);
    await store(
      [1, 'a', 'indoor'],
      [2, 'b', 'Indoor'],
      [3, 'c', 'indoors'],
      [4, 'd'],
      [5, 'e', ''],
    );
    expect(idsOf(await get('/plants?tag=indoor'))).toEqual(['1']);
    expect(idsOf(await get('/plants?tag='))).toEqual(['5']);
    await service.post({ id: 6, name: 'f', tag: long });
    expect(idsOf(await get('/plants?tag=%F0%9F%8C%B5'))).toEqual([]);
    expect(await service.database.query('SELECT length(tag) FROM plants WHERE id = 6')).toEqual([
      { length: 10_000 },
    ]);
  });

  it('finds what JavaScript finds in any text', async () => {
    const fold = (text: string) => text.toLowerCase().toUpperCase();
    const alphabet = fc.constantFrom(...Array.from('aA%_\\ßςσΣéÉ ı月🌵'));
    const text = (minLength: number) =>
      fc.array(alphabet, { minLength, maxLength: 8 }).map((letters) => letters.join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(text(0), { maxLength: 6 }), text(3), async (names, word) => {
        await service.database.empty();
        await store(...names.map((name, id) => [id, name] as const));
        const found = idsOf(await get(`/plants?name=${encodeURIComponent(word)}`));
        const wanted = names.flatMap((name, id) =>
          fold(name).includes(fold(word)) ? [String(id)] : [],
        );
        expect(found).toEqual(wanted);
      }),
      { numRuns: 25 },
    );
  });

  it('answers HEAD without a body', async () => {
    await store([1, 'a'], [2, 'b']);
    const answer = await service.request('HEAD', '/plants?limit=1');
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(nextOf(answer)).toBe('/plants?limit=1&after=1');
  });
});

const NAMES: readonly (readonly [name: string, text: string])[] = [
  ['Monstera deliciosa', 'STERA DEL'],
  ['ΜΟΝΣΤΈΡΑΣ', 'στέρας'],
  ['ΟΔΟΣΗΜΟ', 'οδος'],
  ['μονστέρας', 'ΣΤΈΡΑΣ'],
  ['Straßenbaum', 'STRASSEN'],
  ['STRASSENBAUM', 'straße'],
  ['Weiẞdorn', 'weissdorn'],
  ['ÉTOILE', 'étoi'],
  ['Кактус', 'КАКТУС'],
  ['月下美人', '下美人'],
  ['100 % shade_loving', '% sh'],
  ['100 % shade_loving', 'e_l'],
  [String.raw`back\slash`, String.raw`K\S`],
  ['🌵🌵🌵', '🌵🌵🌵'],
  ['a'.repeat(1500) + 'needle', 'NEEDLE'],
  ['a'.repeat(997) + 'needle', 'NEEDLE'],
];

describe.each([
  ['of the server', ''],
  ['C', "TEMPLATE template0 ENCODING UTF8 LC_COLLATE 'C' LC_CTYPE 'C'"],
  [
    'of Greek',
    "TEMPLATE template0 ENCODING UTF8 LC_COLLATE 'C' LC_CTYPE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'el'",
  ],
  [
    'of Turkish',
    "TEMPLATE template0 ENCODING UTF8 LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'tr'",
  ],
])('a search by name with the collation %s', (_, options) => {
  let database: TestDatabase;
  let local: TestService;

  beforeAll(async () => {
    database = await createTestDatabase(options);
    const databaseName = new URL(database.url).pathname.slice(1);
    // Leaves only scans of the trigram index. In such a small table, the planner would not choose it.
    for (const scan of ['seqscan', 'indexscan', 'indexonlyscan']) {
      await database.query(`ALTER DATABASE ${databaseName} SET enable_${scan} = off`);
    }
    local = await startTestService({ database });
    await local.post({ id: 1000, name: 'something else' });
    await local.post({ id: 1001, name: 'shadeXloving, 100 percent back/slash' });
    for (const [id, [name]] of NAMES.entries()) await local.post({ id, name });
  });

  afterAll(async () => {
    await local.stop();
    await database.drop();
  });

  it.each(NAMES)('finds %j by %j', async (name, text) => {
    const path = `/plants?limit=1000&name=${encodeURIComponent(text)}`;
    const found = idsOf(await local.request('GET', path));
    const same = NAMES.flatMap(([other], id) => (other === name ? [String(id)] : []));
    expect(found).toEqual(expect.arrayContaining(same));
    for (const id of found) expect(Number(id)).toBeLessThan(1000);
  });
});

const put = (body: string, headers: Record<string, string> = JSON_TYPE) =>
  service.request('PUT', '/plants/1', { headers, body });

const patch = (body: string, headers: Record<string, string> = MERGE_PATCH) =>
  service.request('PATCH', '/plants/1', { headers, body });

async function tagOf(id = 1): Promise<string> {
  return (await get(`/plants/${id}`)).headers.get('etag') ?? '';
}

describe('the entity tag', () => {
  it('of GET /plants/{id} is strong, and the same for the same content only', async () => {
    await store([1, 'a', 'b'], [2, 'a', 'b']);
    const one = await tagOf(1);
    expect(one).toMatch(/^"[\w-]{22}"$/);
    expect(await tagOf(2)).not.toBe(one);
    await service.request('DELETE', '/plants/1');
    await service.post({ id: 1, name: 'a', tag: 'c' });
    expect(await tagOf(1)).not.toBe(one);
    await put('{"name":"a","tag":"b"}');
    expect(await tagOf(1)).toBe(one);
  });

  it('asks proxies not to change the answer, and with it the tag', async () => {
    await store([1, 'a']);
    const tagged = [await get('/plants/1'), await patch('{"name":"b"}')];
    const others = [await put('{"name":"a"}'), await get('/plants')];
    const fields = [...tagged, ...others].map(({ headers }) => headers.get('cache-control'));
    const unchanged = 'no-store, no-transform';
    expect(fields).toEqual([unchanged, unchanged, 'no-store', 'no-store']);
  });

  it.each([
    ['its own', (tag: string) => tag, 304],
    ['its weak form', (tag: string) => `W/${tag}`, 304],
    ['the form of a compressing Apache', (tag: string) => tag.replace(/"$/, '-gzip"'), 304],
    ['a weak form with a coding', (tag: string) => `W/${tag.replace(/"$/, '--br"')}`, 304],
    ['its beginning', (tag: string) => tag.replace(/..$/, '"'), 200],
    ['more than a coding', (tag: string) => tag.replace(/"$/, '-gzip-2"'), 200],
    ['a list', (tag: string) => `"x", ,\t${tag},W/"y"`, 304],
    ['*', () => '*', 304],
    ['another', () => '"other"', 200],
    ['a tag with a comma', () => '"a,b"', 200],
  ])('lets GET answer If-None-Match with %s', async (_, header, status) => {
    await store([1, 'a']);
    const tag = await tagOf();
    for (const method of ['GET', 'HEAD']) {
      const answer = await service.request(method, '/plants/1', {
        headers: { 'If-None-Match': header(tag) },
      });
      expect(answer.status).toBe(status);
      expect(answer.headers.get('etag')).toBe(tag);
      if (status === 304) {
        expect(answer.text).toBe('');
        expect(answer.headers.get('content-length')).toBeNull();
      }
    }
  });

  it('that does not match If-Match is refused by GET with 412, before If-None-Match is looked at', async () => {
    await store([1, 'a']);
    const tag = await tagOf();
    const headers = { 'If-Match': '"other"', 'If-None-Match': tag };
    expect(await get('/plants/1', { headers })).toMatchObject({ json: { error: 41200 } });
    const same = { 'If-Match': tag, 'If-None-Match': '"other"' };
    expect(await get('/plants/1', { headers: same })).toMatchObject({ status: 200 });
  });

  it.each(['abc', '"a" "b"', '"a', 'W/', 'w/"a"', '*, "a"', '-', '"a",-', '\u00a0"a"'])(
    'is refused as %j, and nothing changes',
    async (header) => {
      await store([1, 'a']);
      for (const [method, field] of [
        ['GET', 'If-None-Match'],
        ['DELETE', 'If-Match'],
      ] as const) {
        const answer = await service.request(method, '/plants/1', { headers: { [field]: header } });
        expect(answer).toMatchObject({
          status: 400,
          json: {
            error: 40004,
            message: `${field} must be * or a list of entity tags, such as "abc"`,
          },
        });
      }
      expect(await stored()).toHaveLength(1);
    },
  );

  it.each([
    ['empty elements', ' ,\t'],
    ['spaces', ' '],
  ])('is refused in linear time, among many %s', async (_, piece) => {
    await store([1, 'a']);
    const socket = await RawSocket.open(service.port);
    const header = `"a",${piece.repeat(15_000 / piece.length)}x`;
    const start = process.cpuUsage();
    for (let n = 0; n < 10; n += 1) {
      socket.send(
        `GET /plants/1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nIf-None-Match: ${header}\r\n\r\n`,
      );
      expect(await socket.answer()).toMatchObject({ status: 400 });
    }
    // Some 50 ms; quadratic time would be more than a second.
    expect(process.cpuUsage(start).user / 1_000).toBeLessThan(500);
    socket.destroy();
  });
});

/** As the database has it. */
const OLD = { id: '1', name: 'old', tag: 'x' };

describe.each([
  ['PUT', JSON_TYPE, '{"name":"new"}'],
  ['PATCH', MERGE_PATCH, '{"name":"new"}'],
  ['DELETE', {}, undefined],
] as const)('%s with a precondition', (method, headers, body) => {
  const send = (condition: Record<string, string>) =>
    service.request(method, '/plants/1', {
      headers: { ...headers, ...condition },
      ...(body !== undefined && { body }),
    });

  beforeEach(() => store([1, 'old', 'x']));

  it.each([
    ['has one of the tags', (tag: string) => `"other", ${tag}`],
    ['is there, with *', () => '*'],
  ])('changes a plant that %s', async (_, listOf) => {
    expect((await send({ 'If-Match': listOf(await tagOf()) })).status).toBeLessThan(300);
    expect(await stored()).not.toContainEqual(OLD);
  });

  it('changes nothing if the plant has another tag, or only a weak one', async () => {
    const tag = await tagOf();
    for (const condition of [
      { 'If-Match': '"other"' },
      { 'If-Match': '' },
      { 'If-Match': ' , ' },
      { 'If-Match': `W/${tag}` },
      { 'If-None-Match': tag },
      { 'If-None-Match': `W/${tag}` },
      { 'If-None-Match': '*' },
      { 'If-Match': tag, 'If-None-Match': '*' },
    ]) {
      const answer = await send(condition);
      expect(answer).toMatchObject({ status: 412, json: { error: 41200 } });
    }
    expect(await stored()).toEqual([OLD]);
  });

  it.each([
    ['weak, as nginx does', (tag: string) => `W/${tag}`, true],
    ['another, as Apache does', (tag: string) => tag.replace(/"$/, '-gzip"'), true],
    ['another among others', (tag: string) => `"other", ${tag.replace(/"$/, '-br"')}`, true],
    ['weak, and the plant has changed', () => 'W/"other"', true],
    ['unknown', (tag: string) => tag.replace(/"$/, '-2"'), false],
  ])('says whether a proxy has made the tag %s', async (_, changed, isByProxy) => {
    const tag = await tagOf();
    expect(await send({ 'If-Match': changed(tag) })).toMatchObject({
      status: 412,
      json: {
        error: 41200,
        message: isByProxy
          ? expect.stringContaining('Configure the proxy to pass ETag on unchanged')
          : 'a precondition of the request does not hold',
      },
    });
    expect(await stored()).toEqual([OLD]);
  });

  it.each([
    ['any plant with *', { 'If-Match': '*' }],
    ['a plant whose tags it does not name', { 'If-None-Match': '"other"' }],
  ])('holds for %s, however often it changes', async (_, condition) => {
    const others = Array.from({ length: 40 }, (_item, index) =>
      unlessBusy(() => patch(`{"tag":"${index}"}`, { ...JSON_TYPE, ...condition })),
    );
    const [answer, ...patched] = await Promise.all([unlessBusy(() => send(condition)), ...others]);
    expect(answer.status).toBe(method === 'DELETE' ? 204 : 200);
    const statuses = method === 'DELETE' ? [200, 404] : [200];
    for (const { status } of patched) expect(statuses).toContain(status);
  });

  it('answers 404 where there is no plant, whatever the precondition', async () => {
    await service.database.empty();
    for (const condition of [{ 'If-Match': '*' }, { 'If-None-Match': '*' }, {}]) {
      expect(await send(condition)).toMatchObject({ status: 404, json: { error: 40401 } });
    }
    expect(await stored()).toEqual([]);
  });

  it('has one winner among concurrent requests', async () => {
    for (let round = 0; round < 5; round++) {
      await service.database.empty();
      await store([1, 'old', 'x']);
      const tag = await tagOf();
      const answers = await Promise.all([
        ...Array.from({ length: 4 }, (_, index) =>
          put(`{"name":"put ${index}"}`, { ...JSON_TYPE, 'If-Match': tag }),
        ),
        ...Array.from({ length: 4 }, () => send({ 'If-Match': tag })),
      ]);
      const won = answers.filter(({ status }) => status < 300);
      expect(won).toHaveLength(1);
      for (const { status } of answers) expect([200, 204, 404, 412]).toContain(status);
    }
  });
});

describe('PUT /plants/{id}', () => {
  it('replaces the name and the tag, and answers with the plant', async () => {
    await store([1, 'old', 'x']);
    const answer = await put('{"name":"new"}');
    expect(answer).toMatchObject({ status: 200, text: '{"id":1,"name":"new"}' });
    // RFC 9110, section 9.3.4: the plant is not the body, byte for byte.
    expect(answer.headers.get('etag')).toBeNull();
    expect(await stored()).toEqual([{ id: '1', name: 'new', tag: null }]);
    const tagged = await put('{"id":1.0,"name":"","tag":"","nonsense":"x"}');
    expect(tagged).toMatchObject({ status: 200, text: '{"id":1,"name":"","tag":""}' });
  });

  it('does not create a plant', async () => {
    expect(await put('{"name":"new"}')).toMatchObject({ status: 404, json: { error: 40401 } });
    expect(await stored()).toEqual([]);
  });

  it.each([
    ['{"id":2,"name":"new"}', 40003, 'id must be the id in the path, 1'],
    ['{"id":null,"name":"new"}', 40003, expect.stringContaining('id must be an integer')],
    ['{}', 40003, 'name is missing'],
    ['{"name":"new","tag":null}', 40003, 'tag must be a string'],
    ['{"name":', 40001, expect.anything()],
    ['[]', 40003, 'the body must be a JSON object'],
    ['', 40002, expect.anything()],
  ])('refuses %s and changes nothing', async (body, error, message) => {
    await store([1, 'old', 'x']);
    expect(await put(body)).toMatchObject({ status: 400, json: { error, message } });
    expect(await stored()).toEqual([OLD]);
  });

  it('decides about a create that is sent again: what counts is what is stored now', async () => {
    await service.post({ id: 1, name: 'old' });
    await put('{"name":"new"}');
    expect(await service.post({ id: 1, name: 'old' })).toMatchObject({ json: { error: 40009 } });
    expect(await service.post({ id: 1, name: 'new' })).toMatchObject({ status: 200 });
  });
});

describe('PATCH /plants/{id}', () => {
  it.each([
    ['{"name":"new"}', '{"id":1,"name":"new","tag":"x"}'],
    ['{"tag":"y"}', '{"id":1,"name":"old","tag":"y"}'],
    ['{"tag":null}', '{"id":1,"name":"old"}'],
    ['{"name":"new","tag":null}', '{"id":1,"name":"new"}'],
    ['{}', '{"id":1,"name":"old","tag":"x"}'],
    ['{"id":1,"nonsense":null}', '{"id":1,"name":"old","tag":"x"}'],
  ])('with %s answers %s', async (body, text) => {
    for (const headers of [MERGE_PATCH, JSON_TYPE]) {
      await service.database.empty();
      await store([1, 'old', 'x']);
      const answer = await patch(body, headers);
      expect(answer).toMatchObject({ status: 200, text });
      expect(answer.headers.get('etag')).toBe(await tagOf());
      expect((await get('/plants/1')).text).toBe(text);
    }
  });

  it.each([
    ['{"name":null}', 'name must be a string'],
    ['{"id":null}', expect.stringContaining('id must be an integer')],
    ['{"id":2}', 'id must be the id in the path, 1'],
    ['{"tag":1}', 'tag must be a string'],
    ['"new"', 'the body must be a JSON object'],
    ['null', 'the body must be a JSON object'],
  ])('refuses %s and changes nothing', async (body, message) => {
    await store([1, 'old', 'x']);
    expect(await patch(body)).toMatchObject({ status: 400, json: { error: 40003, message } });
    expect(await stored()).toEqual([OLD]);
  });

  it('changes members that concurrent patches leave alone', async () => {
    await store([1, 'old', 'x']);
    const answers = await Promise.all([patch('{"name":"new"}'), patch('{"tag":"y"}')]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await stored()).toEqual([{ id: '1', name: 'new', tag: 'y' }]);
  });
});

it.each([
  ['PUT', 'application/merge-patch+json', 'accept', 'application/json'],
  [
    'PATCH',
    'application/json-patch+json',
    'accept-patch',
    'application/merge-patch+json, application/json',
  ],
])(
  '%s refuses a body of type %s, and names those that it accepts',
  async (method, type, field, accepted) => {
    await store([1, 'old', 'x']);
    const send = method === 'PUT' ? put : patch;
    const answer = await send('{"name":"new"}', { 'Content-Type': type });
    expect(answer).toMatchObject({ status: 415, json: { error: 41500 } });
    expect(answer.headers.get(field)).toBe(accepted);
    expect(await stored()).toEqual([OLD]);
  },
);

describe('DELETE /plants/{id}', () => {
  it('removes the plant, and frees its id', async () => {
    await service.post({ id: 1, name: 'old' });
    expect(await service.request('DELETE', '/plants/1')).toMatchObject({ status: 204, text: '' });
    expect(await get('/plants/1')).toMatchObject({ status: 404 });
    expect(await service.request('DELETE', '/plants/1')).toMatchObject({
      status: 404,
      json: { error: 40401 },
    });
    expect(await service.post({ id: 1, name: 'new' })).toMatchObject({ status: 200 });
  });
});

it('CORS lets pages of other origins change plants', async () => {
  const origin = 'https://garden.example.com';
  const open = await startTestService({ environment: { CORS_ORIGINS: origin } });
  const preflight = await open.request('OPTIONS', '/plants/1', {
    anonymous: true,
    headers: { Origin: origin, 'Access-Control-Request-Method': 'PATCH' },
  });
  expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH');
  await open.stop();
});
