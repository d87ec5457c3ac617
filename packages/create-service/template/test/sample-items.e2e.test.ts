import { randomUUID } from 'node:crypto';
import { createTestingService } from '@resource-service/framework/testing';
import { afterAll, expect, it } from 'vitest';
import { AppModule } from '../src/app.module.js';

const service = await createTestingService(AppModule);

afterAll(() => service.stop());

/** Creates a sample item, and returns its id. */
async function created(content: object): Promise<number> {
  const { body } = await service.send('POST', '/sample-items', content);
  return (body as { id: number }).id;
}

it('needs a token with the scope of the operation', async () => {
  expect((await fetch(`${service.url}/sample-items`)).status).toBe(401);
  const Authorization = `Bearer ${await service.tokenWith('sample-items:read')}`;
  const send = (method: string, body?: object) =>
    service.send(method, '/sample-items', body, { Authorization });
  expect((await send('GET')).status).toBe(200);
  expect((await send('POST', { name: 'First' })).status).toBe(403);
});

it('creates a sample item, whose path is in the answer', async () => {
  const content = { name: 'First', note: 'In use' };
  const answer = await service.send('POST', '/sample-items', content);
  expect(answer).toMatchObject({ status: 201, body: content });
  const path = answer.headers.get('Location')!;
  expect((await service.send('GET', path)).body).toEqual(answer.body);
});

it('creates one sample item for all requests with the same Idempotency-Key', async () => {
  const key = { 'Idempotency-Key': randomUUID() };
  const send = (name: string) => service.send('POST', '/sample-items', { name }, key);
  const { body } = await send('Once');
  expect(await send('Once')).toMatchObject({ status: 201, body });
  expect(await send('Twice')).toMatchObject({ status: 422, body: { error: 42200 } });
});

it.each([
  [{}, 'name is missing'],
  [{ name: '' }, 'name must have 1 to 200 characters'],
])('refuses %j', async (content, message) => {
  const answer = await service.send('POST', '/sample-items', content);
  expect(answer).toMatchObject({ status: 400, body: { error: 40003, message } });
});

it('lists sample items, page by page, and exports them', async () => {
  const first = await created({ name: 'Page' });
  const second = await created({ name: 'Page' });
  await created({ name: 'Page' });
  const page = await service.send('GET', `/sample-items?after=${first - 1}&limit=2`);
  expect(page.body).toEqual([
    { id: first, name: 'Page' },
    { id: second, name: 'Page' },
  ]);
  expect(page.headers.get('Link')).toBe(`</sample-items?limit=2&after=${second}>; rel="next"`);
  const exported = await service.send('GET', `/sample-items/export?after=${second}`);
  expect(exported.body).toMatch(/^\{"id":\d+,"name":"Page"\}\n\n$/);
});

it('finds sample items by their ids, backwards, and counts them', async () => {
  const first = await created({ name: 'Known' });
  const second = await created({ name: 'Known' });
  const ids = `${second},${first},${2 ** 52}`;
  const page = await service.send('GET', `/sample-items?ids=${ids}&sort=-id&count=true`);
  expect(page.body).toEqual([
    { id: second, name: 'Known' },
    { id: first, name: 'Known' },
  ]);
  expect(page.headers.get('X-Total-Count')).toBe('2');
});

it('replaces, changes and removes a sample item', async () => {
  const id = await created({ name: 'First', note: 'In use' });
  const path = `/sample-items/${id}`;
  const replaced = await service.send('PUT', path, { name: 'Second' });
  expect(replaced).toMatchObject({ status: 200, body: { id, name: 'Second' } });
  const changed = await service.send('PATCH', path, { note: 'Old' });
  expect(changed).toMatchObject({ status: 200, body: { id, name: 'Second', note: 'Old' } });
  expect((await service.send('DELETE', path)).status).toBe(204);
  expect(await service.send('GET', path)).toMatchObject({ status: 404, body: { error: 40420 } });
});
