import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
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
async function store(...plants: (readonly [id: bigint | number, name: string, tag?: string])[]) {
  await service.database.query(
    'INSERT INTO plants (id, name, tag) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])',
    [
      plants.map(([id]) => String(id)),
      plants.map(([, name]) => name),
      plants.map(([, , tag]) => tag ?? null),
    ],
  );
}

/** The ids of a page, with all digits. */
function idsOf({ text }: Answer): string[] {
  return [...text.matchAll(/"id":(-?\d+)/g)].map(([, id = '']) => id);
}

/** The target of the `Link` to the next page. */
function nextOf({ headers }: Answer): string | undefined {
  return /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
}

/** The ids of all pages, page by page. */
async function pagesFrom(path: string): Promise<string[][]> {
  const pages: string[][] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const answer: Answer = await get(next);
    expect(answer.status).toBe(200);
    pages.push(idsOf(answer));
    next = nextOf(answer);
  }
  return pages;
}

/** Each value is refused with a message. */
function refuses(cases: readonly (readonly [query: string, message: string])[]): void {
  it.each(cases)('refuses ?%.60s: %s', async (query, message) => {
    const answer = await get(`/plants?${query}`);
    expect(answer).toMatchObject({ status: 400, json: { error: 40004, message } });
  });
}

describe('ids of GET /plants', () => {
  const NOT_IDS = `ids must be at most 100 ids, separated by commas; each of them must be an integer between ${MIN} and ${MAX}, in canonical decimal form`;

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

  refuses([
    ...['', 'x', '1,', ',1', '1,,2', '1, 2', '1.0', '01', `1,${MAX + 1n}`].map(
      (ids) => [`ids=${ids}`, NOT_IDS] as const,
    ),
    [`ids=${Array.from({ length: 101 }, (_, id) => id).join()}`, NOT_IDS],
    [`ids=${','.repeat(3_000)}`, NOT_IDS],
    ['ids=1&ids=2', 'ids must not be given twice'],
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
