import { randomUUID } from 'node:crypto';
import { createTestingService } from '@resource-service/framework/testing';
import { afterAll, expect, it } from 'vitest';
import { AppModule } from '../src/app.module.js';

const service = await createTestingService(AppModule);

afterAll(() => service.stop());

const FIRST = { name: 'First', note: 'In use' };
/** Has only what is required. */
const SECOND = { name: 'Second' };

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
  expect((await send('POST', FIRST)).status).toBe(403);
});

it('creates a sample item, whose path is in the response', async () => {
  const response = await service.send('POST', '/sample-items', FIRST);
  expect(response).toMatchObject({ status: 201, body: FIRST });
  const path = response.headers.get('Location')!;
  expect((await service.send('GET', path)).body).toEqual(response.body);
});

it('creates one sample item for all requests with the same Idempotency-Key', async () => {
  const key = { 'Idempotency-Key': randomUUID() };
  const send = (content: object) => service.send('POST', '/sample-items', content, key);
  const { body } = await send(FIRST);
  expect(await send(FIRST)).toMatchObject({ status: 201, body });
  expect(await send(SECOND)).toMatchObject({ status: 422, body: { error: 42200 } });
});

it.each([
  [{}, 'name is missing'],
  [{ name: '' }, 'name must have 1 to 200 characters'],
])('rejects %j', async (content, message) => {
  const response = await service.send('POST', '/sample-items', content);
  expect(response).toMatchObject({ status: 400, body: { error: 40003, message } });
});

it('lists sample items, page by page, and exports them', async () => {
  const first = await created(SECOND);
  const second = await created(SECOND);
  const third = await created(SECOND);
  const page = await service.send('GET', `/sample-items?after=${first - 1}&limit=2`);
  expect(page.body).toEqual([
    { id: first, ...SECOND },
    { id: second, ...SECOND },
  ]);
  expect(page.headers.get('Link')).toBe(`</sample-items?limit=2&after=${second}>; rel="next"`);
  const exported = await service.send('GET', `/sample-items/export?after=${second}`);
  expect(exported.body).toBe(`${JSON.stringify({ id: third, ...SECOND })}\n\n`);
});

it('finds sample items by their ids, backwards, and counts them', async () => {
  const first = await created(SECOND);
  const second = await created(SECOND);
  const ids = `${second},${first},${2 ** 52}`;
  const page = await service.send('GET', `/sample-items?ids=${ids}&sort=-id&count=true`);
  expect(page.body).toEqual([
    { id: second, ...SECOND },
    { id: first, ...SECOND },
  ]);
  expect(page.headers.get('X-Total-Count')).toBe('2');
});

it('replaces, changes and removes a sample item', async () => {
  const id = await created(FIRST);
  const path = `/sample-items/${id}`;
  const replaced = await service.send('PUT', path, SECOND);
  expect(replaced).toMatchObject({ status: 200, body: { id, ...SECOND } });
  const [name, value] = Object.entries(FIRST).at(-1)!;
  const changed = await service.send('PATCH', path, { [name]: value });
  expect(changed).toMatchObject({ status: 200, body: { id, ...SECOND, [name]: value } });
  expect((await service.send('DELETE', path)).status).toBe(204);
  expect(await service.send('GET', path)).toMatchObject({ status: 404, body: { error: 40420 } });
});
