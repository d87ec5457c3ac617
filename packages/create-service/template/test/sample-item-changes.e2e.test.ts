import { createTestingService } from '@resource-service/framework/testing';
import { afterAll, expect, it } from 'vitest';
import { AppModule } from '../src/app.module.js';

const service = await createTestingService(AppModule);

afterAll(() => service.stop());

const FIRST = { name: 'First', note: 'In use' };
/** Has only what is required. */
const SECOND = { name: 'Second' };

it('has a record of each change, in their order', async () => {
  const { body } = await service.send('POST', '/sample-items', FIRST);
  const { id } = body as { id: number };
  await service.send('PATCH', `/sample-items/${id}`, SECOND);
  await service.send('DELETE', `/sample-items/${id}`);
  const changes = await service.send('GET', `/sample-item-changes?sampleItem=${id}`);
  expect(changes.body).toMatchObject([
    { kind: 'created', id, sampleItem: { id, ...FIRST } },
    { kind: 'replaced', id, sampleItem: { id, ...FIRST, ...SECOND } },
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
