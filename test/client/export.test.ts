import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FaultyLink } from '../support/faulty-link.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { IncompleteExportError, PlantStore } from '../../dist-client/dist/plant-store.js';
import type { StoredPlant } from '../../dist-client/dist/plant-store.js';
import { FrontServer } from './front-server.js';
import { all, failureOf, PLANTS, rowsOf } from './plants.js';

let service: TestService;
let store: PlantStore;

beforeAll(async () => {
  service = await startTestService();
  store = new PlantStore({ url: service.url, token: TOKEN });
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

async function insert(plants: number): Promise<void> {
  await service.database.query(
    `INSERT INTO plants (id, name, tag)
     SELECT id, 'plant ' || id, CASE WHEN id % 2 = 0 THEN 'even' END FROM generate_series(1, $1::int) AS id`,
    [plants],
  );
}

/** A server that sends a plant, and then nothing. */
const silentServer = () =>
  FrontServer.start((_request, response) => {
    response.write('{"id":7,"name":"Ficus"}\n');
  });

describe('an export', () => {
  it('returns all plants, with exact ids', async () => {
    expect(await all(store.export())).toEqual([]);
    await store.import(PLANTS).summary();
    expect(await all(store.export())).toEqual(PLANTS);
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
      for await (const plant of proxy.store().export()) found.push(plant);
    };
    const failure = await failureOf(reading());
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
    for await (const plant of endless.store().export()) {
      expect(plant).toEqual({ id: 7n, name: 'Ficus' });
      break;
    }
    await closed;
  });

  it('ends within a line when it is aborted, with the reason of the signal', async () => {
    await insert(20_000);
    const controller = new AbortController();
    const reason = new Error('enough');
    const found: bigint[] = [];
    const reading = async () => {
      for await (const { id } of store.export({ signal: controller.signal })) {
        found.push(id);
        if (id === 7n) controller.abort(reason);
      }
    };
    await expect(reading()).rejects.toBe(reason);
    expect(found).toEqual([1n, 2n, 3n, 4n, 5n, 6n, 7n]);
  });

  it('ends when it is aborted while the service is silent', async () => {
    await using silent = await silentServer();
    const controller = new AbortController();
    const { signal } = controller;
    const exported = silent.store().export({ signal });
    await exported.next();
    const next = exported.next();
    controller.abort();
    await expect(next).rejects.toBe(signal.reason);
  });

  it('is requested again until it begins', async () => {
    let requests = 0;
    await using front = await FrontServer.start((_request, response) => {
      requests += 1;
      if (requests === 1) response.writeHead(503).end();
      else response.end('{"id":7,"name":"Ficus"}\n\n');
    });
    expect(await all(front.store().export())).toEqual([{ id: 7n, name: 'Ficus' }]);
    expect(requests).toBe(2);
  });

  it('fails when the service is silent for longer than the timeout', async () => {
    await using silent = await silentServer();
    const exported = silent.store({ timeout: 1_000 }).export();
    expect((await exported.next()).value).toEqual({ id: 7n, name: 'Ficus' });
    await expect(exported.next()).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('may take longer than the timeout, and its reader may be slow', async () => {
    await using slow = await FrontServer.start((_request, response) => {
      void (async () => {
        for (let id = 1; id <= 4; id++) {
          response.write(`{"id":${id},"name":"Ficus"}\n`);
          await sleep(600);
        }
        response.end('\n');
      })();
    });
    const ids: bigint[] = [];
    for await (const { id } of slow.store({ timeout: 2_000 }).export()) {
      ids.push(id);
      // Longer than the timeout.
      if (id === 4n) await sleep(2_100);
    }
    expect(ids).toEqual([1n, 2n, 3n, 4n]);
  });
});
