import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import {
  ConnectionError,
  PlantStore,
  PlantStoreError,
} from '../../dist-client/dist/plant-store.js';
import type { PlantStoreOptions } from '../../dist-client/dist/plant-store.js';
import { FrontServer } from './front-server.js';
import { rowsOf } from './plants.js';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

let service: TestService;
let store: PlantStore;

beforeAll(async () => {
  service = await startTestService({ environment: { PUBLIC_BASE_URL: 'http://127.0.0.1/api' } });
  store = new PlantStore({ url: service.url, token: TOKEN });
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

async function failureOf(request: Promise<unknown>): Promise<PlantStoreError> {
  const failure: unknown = await request.catch((error: unknown) => error);
  if (!(failure instanceof PlantStoreError))
    throw new Error('no PlantStoreError', { cause: failure });
  return failure;
}

describe('one plant', () => {
  it.each([MIN, -1n, 0n, 7n, 9007199254740993n, MAX])('has the exact id %s', async (id) => {
    expect(await store.create({ id, name: 'Séneçon 🌵', tag: 'indoor' })).toEqual({
      name: 'Séneçon 🌵',
      tag: 'indoor',
    });
    expect(await rowsOf(service)).toEqual([{ id: String(id), name: 'Séneçon 🌵', tag: 'indoor' }]);
    expect(await store.get(id)).toMatchObject({ id, name: 'Séneçon 🌵', tag: 'indoor' });
    expect(await store.replace(id, { id, name: 'Ficus' })).toMatchObject({ id, name: 'Ficus' });
    expect((await store.list()).plants).toEqual([{ id, name: 'Ficus' }]);
    await store.remove(id);
    expect(await rowsOf(service)).toEqual([]);
  });

  it('keeps text that looks like a number or like JSON', async () => {
    const name = '9007199254740993 "id": 7,\n\\';
    await store.create({ id: 7n, name });
    expect((await store.get(7n)).name).toBe(name);
  });

  it('is changed by a merge patch, and null removes the tag', async () => {
    await store.create({ id: 7n, name: 'Ficus', tag: 'indoor' });
    expect(await store.patch(7n, { name: 'Aloe' })).toMatchObject({ name: 'Aloe', tag: 'indoor' });
    expect(await store.patch(7n, { tag: null })).not.toHaveProperty('tag');
    expect(await rowsOf(service)).toEqual([{ id: '7', name: 'Aloe', tag: null }]);
  });

  it('is changed and removed only while it has the entity tag that was read', async () => {
    await store.create({ id: 7n, name: 'Ficus' });
    const { etag: read } = await store.get(7n);
    const ifMatch = read ?? '';
    const { etag: changed } = await store.patch(7n, { name: 'Aloe' }, { ifMatch });
    for (const change of [
      () => store.patch(7n, { name: 'Agave' }, { ifMatch }),
      () => store.replace(7n, { name: 'Agave' }, { ifMatch }),
      () => store.remove(7n, { ifMatch }),
    ]) {
      expect(await failureOf(change())).toMatchObject({ status: 412, code: 41200 });
    }
    expect(await rowsOf(service)).toEqual([{ id: '7', name: 'Aloe', tag: null }]);
    await store.remove(7n, { ifMatch: changed ?? '' });
    expect(await rowsOf(service)).toEqual([]);
  });

  it('is not changed without a precondition when its entity tag is unknown', async () => {
    await store.create({ id: 7n, name: 'Ficus' });
    // @ts-expect-error Under exactOptionalPropertyTypes, the compiler refuses it, too.
    await expect(store.patch(7n, { name: 'Aloe' }, { ifMatch: undefined })).rejects.toThrow(
      new TypeError('ifMatch is undefined'),
    );
    expect(await rowsOf(service)).toEqual([{ id: '7', name: 'Ficus', tag: null }]);
  });
});

describe('many plants', () => {
  beforeEach(() =>
    service.database.query(
      `INSERT INTO plants (id, name, tag)
       SELECT id, 'plant ' || id, CASE WHEN id % 2 = 0 THEN 'a&b=>, "c"' END FROM generate_series(1, 25) AS id`,
    ),
  );

  it('come page by page', async () => {
    const ids: (readonly bigint[])[] = [];
    let page = await store.list({ limit: 10 });
    for (;;) {
      ids.push(page.plants.map(({ id }) => id));
      if (page.next === undefined) break;
      page = await page.next();
    }
    expect(ids.map(({ length }) => length)).toEqual([10, 10, 5]);
    expect(ids.flat()).toEqual(Array.from({ length: 25 }, (_, index) => BigInt(index + 1)));
  });

  it('come one by one from all pages, with the filters on each page', async () => {
    const found: bigint[] = [];
    const query = { tag: 'a&b=>, "c"', name: 'PLANT', limit: 5, after: 2n };
    for await (const { id } of store.plants(query)) found.push(id);
    expect(found).toEqual([4n, 6n, 8n, 10n, 12n, 14n, 16n, 18n, 20n, 22n, 24n]);
  });

  it('come in another order, by their ids, and counted', async () => {
    const idsOf = async (query: Parameters<PlantStore['plants']>[0]) => {
      const ids: bigint[] = [];
      for await (const { id } of store.plants(query)) ids.push(id);
      return ids;
    };
    expect((await idsOf({ sort: '-id', limit: 10 })).slice(0, 3)).toEqual([25n, 24n, 23n]);
    const byTag = await idsOf({ sort: '-tag', limit: 3 });
    expect(byTag).toHaveLength(25);
    expect(byTag.slice(10)).toEqual([
      4n,
      2n,
      ...Array.from({ length: 13 }, (_, at) => BigInt(25 - 2 * at)),
    ]);
    expect(await idsOf({ ids: [9n, 404n, 3n, 7n], limit: 2 })).toEqual([3n, 7n, 9n]);
    expect(await idsOf({ ids: [] })).toEqual([]);
    const { plants, total } = await store.list({ limit: 2, name: 'plant 1', count: true });
    expect([plants.length, total]).toEqual([2, { items: 11, isExact: true }]);
    expect(await store.list({ limit: 1 })).not.toHaveProperty('total');
    const none = await store.list({ ids: [], count: true });
    expect(none).toMatchObject({ plants: [], total: { items: 0, isExact: true } });
    expect(await store.list({ ids: [] })).not.toHaveProperty('total');
    const reason = new Error('no longer wanted');
    const canceled = store.list({ ids: [], signal: AbortSignal.abort(reason) });
    await expect(canceled).rejects.toBe(reason);
    const wrong = await failureOf(
      store.list({ ids: Array.from({ length: 101 }, (_, id) => BigInt(id)) }),
    );
    expect(wrong).toMatchObject({ status: 400, code: 40004 });
  });

  it('are requested no further than they are read', async () => {
    const requests: string[] = [];
    const counting = new PlantStore({
      url: service.url,
      token: TOKEN,
      fetch: (request) => {
        requests.push(request.url);
        return fetch(request);
      },
    });
    for await (const { id } of counting.plants({ limit: 10 })) if (id === 11n) break;
    expect(requests).toEqual([
      `${service.url}/plants?limit=10`,
      `${service.url}/plants?limit=10&after=10`,
    ]);
  });

  it('are requested with the `fetch` of a browser, which is no method of another object', async () => {
    const objects: unknown[] = [];
    function ofBrowser(this: unknown, request: Request): Promise<Response> {
      objects.push(this);
      return fetch(request);
    }
    const own = new PlantStore({ url: service.url, token: TOKEN, fetch: ofBrowser });
    await own.list({ limit: 10 });
    expect(objects).toEqual([undefined]);
  });

  it('are requested with the global `fetch` if JavaScript passes null', async () => {
    const own = new PlantStore({ url: service.url, token: TOKEN, fetch: null as never });
    expect((await own.list({ limit: 1 })).plants).toHaveLength(1);
  });

  it('end with an error, not with a part, when a later page fails', async () => {
    let calls = 0;
    const failing = new PlantStore({
      url: service.url,
      token: () => (++calls === 1 ? TOKEN : 'a-token-that-has-expired'),
    });
    const found: bigint[] = [];
    const read = async () => {
      for await (const { id } of failing.plants({ limit: 10 })) found.push(id);
    };
    expect(await failureOf(read())).toMatchObject({ status: 401, code: 40101 });
    expect(found).toHaveLength(10);
  });

  it('end in the middle of a page when they are aborted', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error('enough');
    const found: bigint[] = [];
    const read = async () => {
      for await (const { id } of store.plants({ signal })) {
        found.push(id);
        if (id === 3n) controller.abort(reason);
      }
    };
    await expect(read()).rejects.toBe(reason);
    expect(found).toEqual([1n, 2n, 3n]);
  });
});

describe('an option that is wrong', () => {
  const right = { url: 'http://localhost:3000', token: TOKEN };

  it.each<[Partial<PlantStoreOptions>, string]>([
    [
      { url: 'localhost:3000' },
      "url must be a URL that begins with http:// or https://, such as http://localhost:3000, but is 'localhost:3000'",
    ],
    [{ url: 'plants.example.com' }, "but is 'plants.example.com'"],
    [{ url: 'ftp://plants.example.com' }, "but is 'ftp://plants.example.com'"],
    [{ url: '' }, "but is ''"],
    [{ token: '' }, 'token must be a text that is not empty'],
    [{ token: ' \n' }, 'token must be a text that is not empty'],
    [{ token: 'secret\nother' }, 'token must consist of printable ASCII characters without spaces'],
    [{ token: 'sécret' }, 'token must consist of printable ASCII characters without spaces'],
    [{ retries: -1 }, 'retries must be an integer from 0, but is -1'],
    [{ retries: Number.NaN }, 'retries must be an integer from 0, but is NaN'],
    [{ timeout: 0 }, 'timeout must be a number of milliseconds from 1 to 2147483647, but is 0'],
    [{ timeout: Infinity }, 'but is Infinity'],
  ])('fails before any request: %j', (wrong, message) => {
    const construct = () => new PlantStore({ ...right, ...wrong });
    expect(construct).toThrow(TypeError);
    expect(construct).toThrow(message);
  });
});

describe('the token', () => {
  it('can be a function, which each request calls', async () => {
    const tokens = ['not-a-token', TOKEN];
    const rotating = new PlantStore({
      url: `${service.url}/`,
      token: () => Promise.resolve(tokens.shift() ?? ''),
    });
    expect(await failureOf(rotating.list())).toMatchObject({ status: 401, code: 40101 });
    expect(await rotating.list()).toEqual({ plants: [], next: undefined });
  });
});

describe('a failure', () => {
  it('is a PlantStoreError with the number and message of the service', async () => {
    await store.create({ id: 7n, name: 'Ficus' });
    const failure = await failureOf(store.create({ id: 7n, name: 'Aloe' }));
    expect(failure).toMatchObject({
      name: 'PlantStoreError',
      status: 400,
      code: 40009,
      reason: 'id 7 belongs to a plant with other content',
      retryAfter: undefined,
    });
    expect(failure.requestId).toMatch(/./);
    expect(failure.message).toBe(
      `id 7 belongs to a plant with other content (status 400, error 40009, request ${failure.requestId})`,
    );
  });

  it('is an AbortError when the request is aborted', async () => {
    const signal = AbortSignal.abort();
    for (const request of [
      () => store.create({ id: 7n, name: 'Ficus' }, { signal }),
      () => store.get(7n, { signal }),
      () => store.list({ signal }),
      () => store.plants({ signal }).next(),
      () => store.replace(7n, { name: 'Ficus' }, { signal }),
      () => store.patch(7n, {}, { signal }),
      () => store.remove(7n, { signal }),
      () => store.import([{ id: 7n, name: 'Ficus' }], { signal }).summary(),
      () => store.export({ signal }).next(),
    ]) {
      await expect(request()).rejects.toMatchObject({ name: 'AbortError' });
    }
  });

  describe('of something in front of the service', () => {
    it.each([
      ['30', 30],
      ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
      ['soon', undefined],
    ])('has no number, and waits as Retry-After: %s says', async (header, retryAfter) => {
      await using proxy = await FrontServer.start((_request, response) => {
        response.writeHead(503, { 'Retry-After': header }).end('<html>Service Unavailable</html>');
      });
      const failure = await failureOf(proxy.store({ retries: 0 }).list());
      expect(failure).toMatchObject({ status: 503, code: undefined, retryAfter });
      expect(failure.message).toBe('the response has the status 503 Service Unavailable');
    });

    it('is a ConnectionError with the error of fetch when the connection breaks', async () => {
      await using proxy = await FrontServer.start((_request, response) => response.destroy());
      const error: unknown = await proxy
        .store({ retries: 1 })
        .list({ limit: 7 })
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({
        name: 'ConnectionError',
        message: `the connection to ${proxy.url}/plants?limit=7 failed: other side closed`,
        url: `${proxy.url}/plants?limit=7`,
        cause: new TypeError('fetch failed'),
      });
    });

    it('is a ConnectionError when an export breaks off', async () => {
      await using proxy = await FrontServer.start((_request, response) => {
        response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
        response.write('{"id":1,"name":"Aloe"}\n', () => setTimeout(() => response.destroy(), 50));
      });
      const reading = proxy.store().export();
      expect((await reading.next()).value).toEqual({ id: 1n, name: 'Aloe' });
      await expect(reading.next()).rejects.toMatchObject({
        name: 'ConnectionError',
        url: `${proxy.url}/plants/export`,
      });
    });
  });
});

describe('a wrong address', () => {
  const question = (url: string) => new RegExp(`: is ${url} the address of the service\\?`);

  it.each([
    ['of a path that the service does not have', (url: string) => `${url}/v7`],
    ['that nothing has', () => 'http://localhost:1'],
  ])('%s is in the message', async (_what, addressOf) => {
    const url = addressOf(service.url);
    const failing = new PlantStore({ url, token: TOKEN, retries: 0 }).list();
    await expect(failing).rejects.toThrow(url);
  });

  it('that leads to the wrong path of the service, or to another one, is questioned', async () => {
    const url = `${service.url}/v7`;
    const stray = new PlantStore({ url, token: TOKEN });
    expect((await failureOf(stray.list())).message).toMatch(question(url));
    for (const status of [200, 404]) {
      await using site = await FrontServer.start((_request, response) => {
        response.writeHead(status, { 'Content-Type': 'text/html' }).end('<html></html>');
      });
      for (const request of [() => site.store().get(7n), () => site.store().export().next()]) {
        const failure = await failureOf(request());
        expect(failure.message).toMatch(question(site.url));
        expect(failure).toMatchObject({ status, code: undefined });
      }
    }
  });

  it('is not given at all', () => {
    const Untyped = PlantStore as unknown as new (options?: unknown) => PlantStore;
    expect(() => new Untyped()).toThrow(/^the client needs options: \{ url, token \}, such as/);
    expect(() => new Untyped({})).toThrow(/^url must be a URL/);
  });
});
