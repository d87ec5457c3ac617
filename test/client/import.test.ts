import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { PlantStore, PlantStoreError } from '../../dist-client/dist/plant-store.js';
import type { NewPlant, NewPlants, RefusedPlant } from '../../dist-client/dist/plant-store.js';
import { FrontServer } from './front-server.js';
import type { Reply } from './front-server.js';
import { all, failureOf, PLANTS, rowsOf } from './plants.js';

let service: TestService;
let store: PlantStore;

beforeAll(async () => {
  service = await startTestService({ environment: { BODY_LIMIT: '700kb' } });
  store = new PlantStore({ url: service.url, token: TOKEN });
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

/** Names that make two plants too large for one request. */
const longName = (start: string) => start.padEnd(300_000, 'é');

/** A client that tells the body of each request. */
const storeThatTells = (tell: (body: string) => void) =>
  new PlantStore({
    url: service.url,
    token: TOKEN,
    fetch: async (request) => {
      tell(await request.clone().text());
      return fetch(request);
    },
  });

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
      { line: 2, plant: plants[1], code: 40009 },
      { line: 3, plant: plants[2], code: 40003 },
    ]);
    expect(refused[0]?.message).toBe('id 2 belongs to a plant with other content');
    expect(await running.summary()).toEqual({ created: 1, unchanged: 1, refused: 2 });
  });

  it('sends requests of bounded size, with lines that count through all of them', async () => {
    await store.create({ id: 3n, name: 'Ficus' });
    const sizes: number[] = [];
    const measured = storeThatTells((body) => sizes.push(Buffer.byteLength(body)));
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
      { line: 3, plant: plants[2], code: 40009 },
      { line: 4, plant: plants[3], code: 41300 },
      { line: 6, plant: plants[5], code: 40009 },
    ]);
    expect(await running.summary()).toEqual({ created: 3, unchanged: 0, refused: 3 });
    expect(sizes).toHaveLength(4);
    for (const size of sizes.toSpliced(2, 1)) expect(size).toBeLessThanOrEqual(512 * 1024);
  });

  it('sends few plants in a request, so that their answers fit into the buffers of a connection', async () => {
    const requests: number[] = [];
    const counting = storeThatTells((body) => requests.push(body.split('\n').length - 1));
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
    const summary = { created: 0, unchanged: 0, refused: 0 };
    expect(await unreachable.import([]).summary()).toEqual(summary);
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
    expect(seen).toMatchObject([{ line: 1, code: 40009 }]);
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
    await expect(failing).rejects.toMatchObject({ status: 401, code: 40101 });
  });

  it('fails when the service cannot go on, after the lines that were refused before', async () => {
    await using broken = await FrontServer.start((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      response.write('{"line":2,"error":40003,"message":"name must be a string"}\n');
      response.end('{"error":50300,"message":"the database is unavailable"}\n');
    });
    const running = broken.store({ retries: 1 }).import(PLANTS);
    const iterator = running[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toMatchObject({ line: 2, plant: PLANTS[1] });
    const failure = await failureOf(running.summary());
    expect(failure).toBeInstanceOf(PlantStoreError);
    expect(failure).toMatchObject({
      status: 503,
      code: 50300,
      reason: 'the database is unavailable',
    });
  });

  it('fails when the answer ends without a summary', async () => {
    await using broken = await FrontServer.start((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).end();
    });
    const summary = broken.store({ retries: 0 }).import(PLANTS).summary();
    await expect(summary).rejects.toThrow('the response to the import has no summary');
  });

  const line = '{"line":2,"error":40003,"message":"name must be a string"}\n';

  it.each<[string, Reply]>([
    ['an answer of 503', (response) => response.writeHead(503).end()],
    ['an answer that breaks off', (response) => response.write(line, () => response.destroy())],
    [
      'a service that cannot go on',
      (response) => response.end(`${line}{"error":50300,"message":"no database"}\n`),
    ],
    ['a silence', (response) => response.write(line)],
    ['an answer that a proxy has cut off', (response) => response.end(line)],
  ])('sends a request again after %s, and counts each refused plant once', async (_name, fail) => {
    const bodies: string[] = [];
    await using front = await FrontServer.start((request, response) => {
      void (async () => {
        bodies.push(await text(request));
        if (bodies.length === 1) fail(response);
        else response.end(`${line}{"created":2,"unchanged":1,"refused":1}\n`);
      })();
    });
    const running = front.store({ timeout: 2_000 }).import(PLANTS);
    expect(await all(running)).toMatchObject([{ line: 2, plant: PLANTS[1], code: 40003 }]);
    expect(await running.summary()).toEqual({ created: 2, unchanged: 1, refused: 1 });
    expect(bodies).toHaveLength(2);
    expect(bodies[1]).toBe(bodies[0]);
  });
});
