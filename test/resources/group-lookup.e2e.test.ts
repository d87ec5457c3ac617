import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Semaphore } from '../../src/database/semaphore.js';
import type { Statements } from '../../src/database/statements.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { PlantStoreError } from '../../src/errors/plant-store.error.js';
import { NO_TRACER } from '../../src/observability/tracer.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { PLANT_ERRORS } from '../../src/plants/plants.errors.js';
import { EntityColumns } from '../../src/resources/entity-columns.js';
import { GroupLookup } from '../../src/resources/group-lookup.js';
import { createDataSource } from '../support/data-source.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.stop());

describe('look-ups that arrive together', () => {
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
    const patient = await startTestService({ environment: { BODY_LIMIT: '2mb' } });
    try {
      const lengths = [131_071, 131_072, 131_073, 1_000_000];
      await patient.database.query(
        `INSERT INTO plants SELECT id, repeat('n', length - 1), 't' FROM unnest($1::int[]) WITH ORDINALITY AS t (length, id)`,
        [lengths],
      );
      const ids = [1, 2, 3, 4, 5, 3, 4, 1];
      const answers = await Promise.all(ids.map((id) => patient.request('GET', `/plants/${id}`)));
      for (const [index, { status, text }] of answers.entries()) {
        const id = ids[index]!;
        const length = lengths[id - 1];
        const plant = `{"id":${id},"name":"${'n'.repeat((length ?? 1) - 1)}","tag":"t"}`;
        if (length === undefined) expect(status).toBe(404);
        else expect(text === plant).toBe(true);
      }
    } finally {
      await patient.stop();
    }
  });
});

it('share a statement, which asks for each id once', async () => {
  const rows = vi.fn<Statements['rows']>(({ values }) => {
    const ids = (values![0] as readonly string[]).filter((id) => Number(id) < 10);
    return Promise.resolve(ids.map((id) => [id, false, id, `name ${id}`, null]) as never);
  });
  const dataSource = createDataSource(service.database.url);
  await dataSource.initialize();
  const columns = new EntityColumns(dataSource, Plant);
  await dataSource.destroy();
  const lookup = new GroupLookup<Plant>({
    columns: () => columns,
    statements: { rows } as unknown as Statements,
    tracer: NO_TRACER,
    slots: new Semaphore(1, ERRORS.tooManyAnswers),
    notFound: (id) => new PlantStoreError(PLANT_ERRORS.noSuchPlant, `not ${id}`),
  });
  const found = await Promise.allSettled([7n, 8n, 7n, 404n].map((id) => lookup.find(id)));
  expect(found).toMatchObject([
    ...['name 7', 'name 8', 'name 7'].map((name) => ({ value: { name } })),
    { reason: { message: 'not 404' } },
  ]);
  expect(rows.mock.calls.map(([{ values }]) => values)).toEqual([[['7', '8', '404']]]);
});
