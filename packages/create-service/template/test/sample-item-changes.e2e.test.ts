import { createTestingService } from '@resource-service/framework/testing';
import { afterAll, expect, it } from 'vitest';
import { AppModule } from '../src/app.module.js';
import { SAMPLE_ITEM_EXAMPLES } from '../src/sample-items/sample-items.examples.js';

const service = await createTestingService(AppModule);

afterAll(() => service.stop());

const [example] = Object.values(SAMPLE_ITEM_EXAMPLES.create);
const [patch] = Object.values(SAMPLE_ITEM_EXAMPLES.patch ?? {});

it('has a record of each change, in their order', async () => {
  const { value } = example!;
  const { id } = value;
  await service.send('POST', '/sample-items', value);
  await service.send('PATCH', `/sample-items/${id}`, patch!.value);
  await service.send('DELETE', `/sample-items/${id}`);
  const changes = await service.send('GET', `/sample-item-changes?sampleItem=${id}`);
  expect(changes.body).toMatchObject([
    { kind: 'created', id, sampleItem: value },
    { kind: 'replaced', id, sampleItem: { ...value, ...patch!.value } },
    { kind: 'removed', id },
  ]);
  const { position } = (changes.body as { position: number }[]).at(-1)!;
  const latest = await service.send('GET', '/sample-item-changes/latest');
  expect(latest.body).toEqual({ position });
});

it('needs the scope of the sample items', async () => {
  const Authorization = `Bearer ${await service.tokenWith('sample-items:write')}`;
  const response = await service.send('GET', '/sample-item-changes', undefined, { Authorization });
  expect(response.status).toBe(403);
});
