import { afterAll, beforeAll, expect, it } from 'vitest';
import { PlantStore } from '../../../dist-gardens-client/dist/plant-store.js';
import { startTestService, TOKEN } from '../../../test/support/test-service.js';
import type { TestService } from '../../../test/support/test-service.js';

let service: TestService;
let gardens: PlantStore['gardens'];

beforeAll(async () => {
  service = await startTestService();
  ({ gardens } = new PlantStore({ url: service.url, token: TOKEN }));
});

afterAll(() => service.stop());

it('the client has all operations of a garden', async () => {
  const name = 'Yard';
  await gardens.create({ id: 1n, name });
  await gardens.create({ id: 9007199254740993n, name });
  const { etag = '' } = await gardens.get(1n);
  const changed = await gardens.patch(1n, { note: 'Sun' }, { ifMatch: etag });
  expect(changed).toMatchObject({ id: 1n, name, note: 'Sun' });
  expect(await gardens.replace(1n, { name: 'Court' })).toEqual({ id: 1n, name: 'Court' });

  const { items, next } = await gardens.list({ limit: 1 });
  expect(items).toEqual([{ id: 1n, name: 'Court' }]);
  expect(await next?.()).toEqual({ items: [{ id: 9007199254740993n, name }], next: undefined });

  const running = gardens.import([
    { id: 1n, name },
    { id: 2n, name },
  ]);
  for await (const refused of running) {
    expect(refused).toMatchObject({ line: 1, record: { id: 1n, name }, code: 40920 });
  }
  expect(await running.summary()).toEqual({ created: 1, unchanged: 0, refused: 1 });
  await gardens.remove(1n);
  const ids: bigint[] = [];
  for await (const { id } of gardens.export()) ids.push(id);
  expect(ids).toEqual([2n, 9007199254740993n]);
});

it('a filter that gardens do not have is an error of the compiler and of the service', async () => {
  // @ts-expect-error A garden has no tag.
  await expect(gardens.list({ tag: 'indoor' })).rejects.toMatchObject({ code: 40004 });
});

// #region plants
it('the id of a plant keeps its digits', async () => {
  await service.post('{"id":9007199254740995,"name":"Aloe"}');
  const garden = { id: 5n, name: 'Bed', plantId: 9007199254740995n };
  await gardens.create(garden);
  for await (const found of gardens.all({ plantId: garden.plantId })) expect(found).toEqual(garden);
});
// #endregion
