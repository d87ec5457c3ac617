import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { NO_TRACER, TRACER } from '../src/observability/tracer.js';
import { GroupLookup } from '../src/plants/group-lookup.js';
import { PlantsRepository } from '../src/plants/plants.repository.js';
import { startTestService } from './support/test-service.js';
import type { TestService } from './support/test-service.js';

describe('look-ups that arrive together', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService();
  });

  afterAll(() => service.stop());

  it('are answered each for itself, with ids digit for digit', async () => {
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
});

describe('look-ups of long plants', () => {
  it('are answered like others, in the same group or not', async () => {
    const service = await startTestService({ environment: { BODY_LIMIT: '2mb' } });
    try {
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
    } finally {
      await service.stop();
    }
  });
});

it('share a statement, which asks for each id once', async () => {
  const findByIds = vi.fn<PlantsRepository['findByIds']>((ids) =>
    Promise.resolve({
      plants: ids.filter((id) => id < 10n).map((id) => ({ id, name: `${id}`, tag: null })),
      long: [],
    }),
  );
  const module = await Test.createTestingModule({
    providers: [
      GroupLookup,
      { provide: PlantsRepository, useValue: { findByIds } },
      { provide: TRACER, useValue: NO_TRACER },
    ],
  }).compile();
  const lookup = module.get(GroupLookup);
  const found = await Promise.all([7n, 8n, 7n, 404n].map((id) => lookup.find(id)));
  expect(found.map((plant) => plant?.name)).toEqual(['7', '8', '7', undefined]);
  expect(findByIds.mock.calls).toEqual([[[7n, 8n, 404n], 131_072]]);
});
