import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { NO_TRACER } from '../../packages/framework/src/observability/tracer.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { startTestService } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

const MAX = 2n ** 63n - 1n;

let service: TestService;
/** How many have begun. */
const begun = { requests: 0, statements: 0 };
/** Statements wait for it. */
let gate: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  service = await startTestService({
    tracer: {
      ...NO_TRACER,
      request: (_request, _response, handle) => {
        begun.requests += 1;
        handle();
      },
      statement: async (_text, run) => {
        begun.statements += 1;
        await gate;
        return run();
      },
    },
  });
});

afterAll(() => service.stop());

it('look-ups that arrive together are answered each for itself, with ids digit for digit', async () => {
  const base = 2n ** 62n;
  const stored = Array.from({ length: 50 }, (_, n) => ({
    id: base + BigInt(2 * n),
    name: `${n}`,
  }));
  for (const { id, name } of stored) {
    expect((await service.post(`{"id":${id},"name":"${name}"}`)).status).toBe(200);
  }
  const ids = Array.from({ length: 200 }, (_, n) => base + BigInt(n % 100));
  const answers = await Promise.all(ids.map((id) => service.request('GET', `/plants/${id}`)));
  for (const [index, { status, text }] of answers.entries()) {
    const id = ids[index]!;
    const plant = stored.find((one) => one.id === id);
    expect(status).toBe(plant === undefined ? 404 : 200);
    expect(text).toContain(
      plant === undefined ? `with id ${id}` : `{"id":${id},"name":"${plant.name}"}`,
    );
  }
});

it('look-ups of long plants are answered like others, in the same group or not', async () => {
  await service.database.empty();
  const lengths = [131_071, 131_072, 131_073, 1_000_000];
  await service.database.query(
    `INSERT INTO plants SELECT id, repeat('n', length - 1), 't' FROM unnest($1::int[]) WITH ORDINALITY AS t (length, id)`,
    [lengths],
  );
  const ids = [1, 2, 3, 4, 5, 3, 4, 1];
  const answers = await Promise.all(ids.map((id) => service.request('GET', `/plants/${id}`)));
  for (const [index, { status, text }] of answers.entries()) {
    const id = ids[index]!;
    const length = lengths[id - 1];
    const plant = `{"id":${id},"name":"${'n'.repeat((length ?? 1) - 1)}","tag":"t"}`;
    if (length === undefined) expect(status).toBe(404);
    else expect(text === plant).toBe(true);
  }
});

describe('reads that arrive together', () => {
  beforeAll(async () => {
    await service.database.empty();
    await service.database.query(
      `INSERT INTO plants SELECT n, 'Plant ' || n, CASE WHEN n % 2 = 0 THEN 'even' END
         FROM generate_series(1, 1000) AS n`,
    );
    await service.post(`{"id":${MAX},"name":"last"}`);
  });

  function page(query: string): Promise<Answer> {
    return service.request('GET', `/plants?${query}`);
  }

  function plant(id: number): object {
    return { id, name: `Plant ${id}`, ...(id % 2 === 0 && { tag: 'even' }) };
  }

  it.each([50, 100])('of pages are answered each for itself, with %i plants', async (limit) => {
    const afters = Array.from({ length: 100 }, (_, n) => (n * 37) % 900);
    const answers = await Promise.all(afters.map((after) => page(`limit=${limit}&after=${after}`)));
    for (const [index, after] of afters.entries()) {
      const plants = Array.from({ length: limit }, (_, n) => plant(after + n + 1));
      expect(answers[index]!.json).toEqual(plants);
      const next = `</plants?limit=${limit}&after=${after + limit}>; rel="next"`;
      expect(answers[index]!.headers.get('link')).toBe(next);
    }
  });

  it('of pages reach from the smallest id to the greatest', async () => {
    const pages = await Promise.all([
      page(''),
      page('after=-9223372036854775808'),
      page('after=1000'),
      page(`after=${MAX - 1n}`),
      page(`after=${MAX}`),
    ]);
    const first = Array.from({ length: 50 }, (_, n) => plant(n + 1));
    expect(pages.slice(0, 2).map(({ json }) => json)).toEqual([first, first]);
    const last = `[{"id":${MAX},"name":"last"}]`;
    expect(pages.slice(2).map(({ text }) => text)).toEqual([last, last, '[]']);
    const linked = pages.filter(({ headers }) => headers.has('link'));
    expect(linked).toEqual(pages.slice(0, 2));
  });

  it('of pages are all complete beside a page with a long plant', async () => {
    const name = 'a'.repeat(500_000);
    await service.post({ id: 2_000, name });
    const afters = Array.from({ length: 20 }, (_, n) => 950 + 5 * n);
    const answers = await Promise.all(afters.map((after) => page(`after=${after}`)));
    expect(answers.map(({ status }) => status)).toEqual(afters.map(() => 200));
    for (const [index, after] of afters.entries()) {
      const ids = [...answers[index]!.text.matchAll(/"id":(\d+)/g)].map(([, id]) => String(id));
      const wanted = Array.from({ length: 1_000 }, (_, n) => String(n + 1))
        .concat('2000', String(MAX))
        .filter((id) => BigInt(id) > after)
        .slice(0, 50);
      expect(ids).toEqual(wanted);
    }
    expect(answers.some(({ text }) => text.includes(name))).toBe(true);
  });

  it.each([
    ['look-ups', '/plants/'],
    ['pages', '/plants?after='],
  ])('of %s share a statement', async (_, path) => {
    const before = { ...begun };
    let open = (): void => {};
    gate = new Promise<void>((resolve) => (open = resolve));
    const answers = Array.from({ length: 60 }, (_item, n) => service.request('GET', path + n));
    await vi.waitFor(() => expect(begun.requests - before.requests).toBe(60), PATIENCE);
    open();
    await Promise.all(answers);
    expect(begun.statements - before.statements).toBeLessThan(40);
  });
});
