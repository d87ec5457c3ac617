import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_TRACER } from '../../src/observability/tracer.js';
import { startTestService } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

const MAX = 2n ** 63n - 1n;

/** How long a page waits for a connection (docs/operations.md), in milliseconds. */
const WAIT = 2_000;

describe('pages that arrive together', () => {
  let service: TestService;
  const statements: string[] = [];

  beforeAll(async () => {
    service = await startTestService({
      tracer: {
        ...NO_TRACER,
        statement: (text, run) => {
          statements.push(text);
          return run();
        },
      },
    });
    await service.database.query(
      `INSERT INTO plants SELECT n, 'Plant ' || n, CASE WHEN n % 2 = 0 THEN 'even' END
         FROM generate_series(1, 1000) AS n`,
    );
    await service.post(`{"id":${MAX},"name":"last"}`);
  });

  afterAll(() => service.stop());

  function page(query: string): Promise<Answer> {
    return service.request('GET', `/plants?${query}`);
  }

  /** Asks again if a busy machine has let the page wait for too long. */
  async function patientPage(query: string): Promise<Answer> {
    const begin = performance.now();
    const answer = await page(query);
    const hasWaited = performance.now() - begin > WAIT;
    return answer.status === 503 && hasWaited ? patientPage(query) : answer;
  }

  function plant(id: number): object {
    return { id, name: `Plant ${id}`, ...(id % 2 === 0 && { tag: 'even' }) };
  }

  it.each([50, 100])('are answered each for itself, with %i plants', async (limit) => {
    const afters = Array.from({ length: 100 }, (_, n) => (n * 37) % 900);
    const answers = await Promise.all(afters.map((after) => page(`limit=${limit}&after=${after}`)));
    for (const [index, after] of afters.entries()) {
      const plants = Array.from({ length: limit }, (_, n) => plant(after + n + 1));
      expect(answers[index]!.json).toEqual(plants);
      const next = `</plants?limit=${limit}&after=${after + limit}>; rel="next"`;
      expect(answers[index]!.headers.get('link')).toBe(next);
    }
  });

  it('reach from the smallest id to the greatest', async () => {
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
    expect(pages.map(({ headers }) => headers.has('link'))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it('beside a page with a long plant are all complete', async () => {
    const name = 'a'.repeat(500_000);
    await service.post({ id: 2_000, name });
    const afters = Array.from({ length: 20 }, (_, n) => 950 + 5 * n);
    const answers = await Promise.all(afters.map((after) => patientPage(`after=${after}`)));
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

  it('share a statement', async () => {
    const before = statements.length;
    await Promise.all(Array.from({ length: 60 }, (_, n) => page(`after=${n}`)));
    expect(statements.length - before).toBeLessThan(40);
  });
});
