import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FaultyLink } from '../../../test/support/faulty-link.js';
import { startTestService, TOKEN } from '../../../test/support/test-service.js';
import type { TestService } from '../../../test/support/test-service.js';
import { IncompleteExportError, PlantStore, PlantStoreError } from '../src/plant-store.js';
import type { NewPlant, NewPlants, RefusedPlant, StoredPlant } from '../src/plant-store.js';
import { FrontServer } from './front-server.js';

const PLANTS: readonly NewPlant[] = [
  { id: -(2n ** 63n), name: 'Séneçon 🌵', tag: 'a\n"b"\\' },
  { id: 7n, name: '' },
  { id: 9007199254740993n, name: '9007199254740993', tag: 'indoor' },
  { id: 2n ** 63n - 1n, name: 'Aloe', tag: 'desert' },
];

let service: TestService;
let store: PlantStore;

beforeAll(async () => {
  service = await startTestService({ environment: { BODY_LIMIT: '700kb' } });
  store = new PlantStore({ url: service.url, token: TOKEN });
});

beforeEach(() => service.database.query('TRUNCATE plants'));

afterAll(() => service.stop());

function rowsOf({ database }: TestService): Promise<Record<string, unknown>[]> {
  return database.query('SELECT id, name, tag FROM plants ORDER BY id');
}

async function insert(plants: number): Promise<void> {
  await service.database.query(
    `INSERT INTO plants (id, name, tag)
     SELECT id, 'plant ' || id, CASE WHEN id % 2 = 0 THEN 'even' END FROM generate_series(1, $1::int) AS id`,
    [plants],
  );
}

/** Names that make two plants too large for one request. */
const longName = (start: string) => start.padEnd(300_000, 'é');

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('an import', () => {
  function* iterable(): Generator<NewPlant> {
    yield* PLANTS;
  }

  async function* asyncIterable(): AsyncGenerator<NewPlant> {
    for (const plant of PLANTS) yield await Promise.resolve(plant);
  }

  function stream(): ReadableStream<NewPlant> {
    return new ReadableStream({
      start: (controller) => {
        for (const plant of PLANTS) controller.enqueue(plant);
        controller.close();
      },
    });
  }

  it.each<[string, () => NewPlants]>([
    ['an array', () => PLANTS],
    ['an iterable', iterable],
    ['an async iterable', asyncIterable],
    ['a stream', stream],
  ])('stores the plants of %s', async (_name, plants) => {
    const summary = await store.import(plants()).summary();
    expect(summary).toEqual({ created: 4, unchanged: 0, refused: 0 });
    expect(await rowsOf(service)).toEqual(
      PLANTS.map(({ id, name, tag = null }) => ({ id: String(id), name, tag })),
    );
  });

  it('returns the refused plants, then the summary', async () => {
    await store.create({ id: 2n, name: 'Ficus' });
    const plants: NewPlant[] = [
      { id: 1n, name: 'Aloe' },
      { id: 2n, name: 'Monstera' },
      { id: 3n, name: 'a\0b' },
      { id: 2n, name: 'Ficus' },
    ];
    const running = store.import(plants);
    const refused = await all(running);
    expect(refused).toMatchObject([
      { line: 2, plant: plants[1], error: 40009 },
      { line: 3, plant: plants[2], error: 40003 },
    ]);
    expect(refused[0]?.message).toBe('id 2 belongs to a plant with other content');
    expect(await running.summary()).toEqual({ created: 1, unchanged: 1, refused: 2 });
  });

  it('sends requests of bounded size, with lines that count through all of them', async () => {
    await store.create({ id: 3n, name: 'Ficus' });
    const sizes: number[] = [];
    const measured = new PlantStore({
      url: service.url,
      token: TOKEN,
      fetch: async (request) => {
        sizes.push((await request.clone().arrayBuffer()).byteLength);
        return fetch(request);
      },
    });
    const plants: NewPlant[] = [
      { id: 1n, name: longName('one').slice(0, 250_000) },
      { id: 2n, name: 'two' },
      { id: 3n, name: longName('three').slice(0, 100_000) },
      // Larger than a request usually is, and than the service accepts.
      { id: 4n, name: longName('four').repeat(2) },
      { id: 5n, name: 'five' },
      { id: 3n, name: 'six' },
    ];
    const running = measured.import(plants);
    expect(await all(running)).toMatchObject([
      { line: 3, plant: plants[2], error: 40009 },
      { line: 4, plant: plants[3], error: 41300 },
      { line: 6, plant: plants[5], error: 40009 },
    ]);
    expect(await running.summary()).toEqual({ created: 3, unchanged: 0, refused: 3 });
    expect(sizes).toHaveLength(4);
    for (const size of sizes.toSpliced(2, 1)) expect(size).toBeLessThanOrEqual(512 * 1024);
  });

  it('sends few plants in a request, so that their answers fit into the buffers of a connection', async () => {
    const requests: number[] = [];
    const counting = new PlantStore({
      url: service.url,
      token: TOKEN,
      fetch: async (request) => {
        requests.push((await request.clone().text()).split('\n').length - 1);
        return fetch(request);
      },
    });
    const plants = Array.from({ length: 2_500 }, (_, index) => ({ id: BigInt(index), name: '\0' }));
    const running = counting.import(plants);
    const refused = await all(running);
    expect(refused.map(({ line }) => line)).toEqual(plants.map((_, index) => index + 1));
    expect(refused.map(({ plant }) => plant)).toEqual(plants);
    expect(await running.summary()).toEqual({ created: 0, unchanged: 0, refused: 2_500 });
    expect(requests).toEqual([1_000, 1_000, 500]);
  });

  it('of no plants sends no request', async () => {
    const unreachable = new PlantStore({ url: 'http://127.0.0.1:1', token: TOKEN });
    expect(await unreachable.import([]).summary()).toEqual({
      created: 0,
      unchanged: 0,
      refused: 0,
    });
  });

  it('stops when the iteration is left, closes the source, and has no summary', async () => {
    await store.create({ id: 1n, name: 'Ficus' });
    let isClosed = false;
    function* source(): Generator<NewPlant> {
      try {
        for (let id = 1n; ; id++) yield { id, name: longName('Aloe') };
      } finally {
        isClosed = true;
      }
    }
    const running = store.import(source());
    const seen: RefusedPlant[] = [];
    for await (const refused of running) {
      seen.push(refused);
      break;
    }
    expect(seen).toMatchObject([{ line: 1, error: 40009 }]);
    expect(isClosed).toBe(true);
    await expect(running.summary()).rejects.toThrow('the import was stopped before its end');
    expect(await rowsOf(service)).toHaveLength(1);
  });

  it('fails with the error of its source', async () => {
    function* source(): Generator<NewPlant> {
      yield { id: 1n, name: 'Aloe' };
      throw new Error('the file ended early');
    }
    await expect(store.import(source()).summary()).rejects.toThrow('the file ended early');
  });

  it('fails with the error of the service', async () => {
    const stranger = new PlantStore({ url: service.url, token: 'not-a-token' });
    const failing = stranger.import(PLANTS).summary();
    await expect(failing).rejects.toBeInstanceOf(PlantStoreError);
    await expect(failing).rejects.toMatchObject({ status: 401, error: 40101 });
  });

  it('fails when the service cannot go on, after the lines that were refused before', async () => {
    await using broken = await FrontServer.start((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      response.write('{"line":2,"error":40003,"message":"name must be a string"}\n');
      response.end('{"error":50300,"message":"the database is unavailable"}\n');
    });
    const running = new PlantStore({ url: broken.url, token: TOKEN }).import(PLANTS);
    const iterator = running[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toMatchObject({ line: 2, plant: PLANTS[1] });
    const failure: unknown = await running.summary().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(PlantStoreError);
    expect(failure).toMatchObject({
      status: 503,
      error: 50300,
      message: 'the database is unavailable',
    });
  });

  it('fails when the answer ends without a summary', async () => {
    await using broken = await FrontServer.start((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).end();
    });
    const running = new PlantStore({ url: broken.url, token: TOKEN }).import(PLANTS);
    await expect(running.summary()).rejects.toThrow('the answer to the import has no summary');
  });
});

describe('an export', () => {
  it('returns all plants, with exact ids', async () => {
    await store.import(PLANTS).summary();
    expect(await all(store.export())).toEqual(PLANTS);
  });

  it('of no plants is empty', async () => {
    expect(await all(store.export())).toEqual([]);
  });

  it('applies the filters', async () => {
    await insert(2500);
    const found = await all(store.export({ tag: 'even', name: 'PLANT 2', after: 100n }));
    const expected = Array.from({ length: 2500 }, (_, index) => index + 1)
      .filter((id) => id > 100 && id % 2 === 0 && String(id).startsWith('2'))
      .map((id) => ({ id: BigInt(id), name: `plant ${id}`, tag: 'even' }));
    expect(found).toEqual(expected);
  });

  it('can be imported elsewhere while it runs', async () => {
    await insert(5_000);
    await store.import(PLANTS.slice(2)).summary();
    const other = await startTestService();
    try {
      const target = new PlantStore({ url: other.url, token: TOKEN });
      const summary = await target.import(store.export()).summary();
      expect(summary).toEqual({ created: 5_002, unchanged: 0, refused: 0 });
      expect(await rowsOf(other)).toEqual(await rowsOf(service));
    } finally {
      await other.stop();
    }
  });

  it('that breaks is an error of fetch, and continues after the last plant', async () => {
    await insert(20_000);
    const link = await FaultyLink.to(service.url);
    try {
      link.poison({ kind: 'limit_data', bytes: 200_000 });
      const weak = new PlantStore({ url: link.url, token: TOKEN });
      const found: StoredPlant[] = [];
      const reading = async () => {
        for await (const plant of weak.export()) found.push(plant);
      };
      await expect(reading()).rejects.toThrow(TypeError);
      expect(found.length).toBeGreaterThan(0);
      expect(found.length).toBeLessThan(20_000);
      found.push(...(await all(store.export({ after: found.at(-1)?.id ?? 0n }))));
      expect(found.map(({ id }) => Number(id))).toEqual(
        Array.from({ length: 20_000 }, (_, index) => index + 1),
      );
    } finally {
      await link.close();
    }
  });

  it.each([
    ['', undefined],
    ['{"id":6,"name":"Aloe"}\n{"id":7,"name":"Ficus"}\n', 7n],
    ['{"id":7,"name":"Ficus"}\n{"id":8,"na', 7n],
    ['{"id":7,"name":"Ficus"}\n{"id":8,"name":"Rose"}', 7n],
  ])('that lacks the empty line at its end fails: %j', async (answer, last) => {
    await using proxy = await FrontServer.start((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).end(answer);
    });
    const found: StoredPlant[] = [];
    const reading = async () => {
      const { url } = proxy;
      for await (const plant of new PlantStore({ url, token: TOKEN }).export()) found.push(plant);
    };
    const failure: unknown = await reading().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(IncompleteExportError);
    expect(failure).toMatchObject({ name: 'IncompleteExportError', last });
    expect(found.at(-1)?.id).toBe(last);
  });

  it('ends when the iteration is left', async () => {
    let closed: Promise<unknown> | undefined;
    await using endless = await FrontServer.start((_request, response) => {
      closed = new Promise((resolve) => response.once('close', resolve));
      const write = () => {
        while (response.write('{"id":7,"name":"Ficus"}\n'));
        response.once('drain', write);
      };
      write();
    });
    const endlessStore = new PlantStore({ url: endless.url, token: TOKEN });
    for await (const plant of endlessStore.export()) {
      expect(plant).toEqual({ id: 7n, name: 'Ficus' });
      break;
    }
    await closed;
  });

  it('ends when it is aborted', async () => {
    await insert(20_000);
    const controller = new AbortController();
    const found: bigint[] = [];
    const reading = async () => {
      for await (const { id } of store.export({ signal: controller.signal })) {
        found.push(id);
        controller.abort();
      }
    };
    await expect(reading()).rejects.toMatchObject({ name: 'AbortError' });
    expect(found.length).toBeLessThan(20_000);
  });
});
