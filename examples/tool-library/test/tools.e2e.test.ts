import { randomUUID } from 'node:crypto';
import { createTestingService } from '@resource-service/framework/testing';
import { afterAll, expect, it } from 'vitest';
import { AppModule } from '../src/app.module.js';

const service = await createTestingService(AppModule);

afterAll(() => service.stop());

/** Creates a tool, and returns its id. */
async function created(content: object): Promise<number> {
  const { body } = await service.send('POST', '/tools', content);
  return (body as { id: number }).id;
}

it('needs a token with the scope of the operation', async () => {
  expect((await fetch(`${service.url}/tools`)).status).toBe(401);
  const Authorization = `Bearer ${await service.tokenWith('tools:read')}`;
  const send = (method: string, body?: object) =>
    service.send(method, '/tools', body, { Authorization });
  expect((await send('GET')).status).toBe(200);
  expect((await send('POST', { name: 'Hammer' })).status).toBe(403);
});

it('creates a tool, whose path is in the answer', async () => {
  const content = { name: 'Hammer', note: '500 g' };
  const answer = await service.send('POST', '/tools', content);
  expect(answer).toMatchObject({ status: 201, body: content });
  const path = answer.headers.get('Location')!;
  expect((await service.send('GET', path)).body).toEqual(answer.body);
});

it('creates one tool for all requests with the same Idempotency-Key', async () => {
  const key = { 'Idempotency-Key': randomUUID() };
  const send = (name: string) => service.send('POST', '/tools', { name }, key);
  const { body } = await send('Hammer');
  expect(await send('Hammer')).toMatchObject({ status: 201, body });
  expect(await send('Saw')).toMatchObject({ status: 422, body: { error: 42200 } });
});

it.each([
  [{}, 'name is missing'],
  [{ name: '' }, 'name must have 1 to 200 characters'],
])('refuses %j', async (content, message) => {
  const answer = await service.send('POST', '/tools', content);
  expect(answer).toMatchObject({ status: 400, body: { error: 40003, message } });
});

it('lists tools, page by page, and exports them', async () => {
  const first = await created({ name: 'Page' });
  const second = await created({ name: 'Page' });
  await created({ name: 'Page' });
  const page = await service.send('GET', `/tools?after=${first - 1}&limit=2`);
  expect(page.body).toEqual([
    { id: first, name: 'Page', condition: 'good' },
    { id: second, name: 'Page', condition: 'good' },
  ]);
  expect(page.headers.get('Link')).toBe(`</tools?limit=2&after=${second}>; rel="next"`);
  const exported = await service.send('GET', `/tools/export?after=${second}`);
  expect(exported.body).toMatch(/^\{"id":\d+,"name":"Page","condition":"good"\}\n\n$/);
});

it('changes and removes a tool', async () => {
  const id = await created({ name: 'Hammer', note: '500 g' });
  const changed = await service.send('PATCH', `/tools/${id}`, { note: null });
  expect(changed).toMatchObject({ status: 200, body: { id, name: 'Hammer' } });
  expect((await service.send('DELETE', `/tools/${id}`)).status).toBe(204);
  expect(await service.send('GET', `/tools/${id}`)).toMatchObject({
    status: 404,
    body: { error: 40420 },
  });
});

it('lists the tools in a condition, and those that nobody has', async () => {
  const worn = await created({ name: 'Saw', condition: 'worn' });
  const broken = await created({ name: 'Axe', condition: 'broken' });
  await service.send('POST', '/loans', { toolId: worn, borrower: 'Ada' });
  const idsOf = async (query: string) => {
    const { body } = await service.send('GET', `/tools?after=${worn - 1}&${query}`);
    return (body as { id: number }[]).map(({ id }) => id);
  };
  expect(await idsOf('condition=worn,broken')).toEqual([worn, broken]);
  expect(await idsOf('condition=broken')).toEqual([broken]);
  expect(await idsOf('isAvailable=true')).toEqual([broken]);
  expect(await idsOf('isAvailable=false')).toEqual([worn]);
  expect(await service.send('PATCH', `/tools/${worn}`, { condition: 'lost' })).toMatchObject({
    status: 400,
    body: { error: 40003, message: 'condition must be one of good, worn, broken' },
  });
});

it('lets only a loan say who has a tool', async () => {
  const id = await created({ name: 'Hammer', borrower: 'Ada' });
  const stored = { id, name: 'Hammer', condition: 'good' };
  expect((await service.send('GET', `/tools/${id}`)).body).toEqual(stored);
  await service.send('PATCH', `/tools/${id}`, { borrower: 'Ada' });
  expect((await service.send('GET', `/tools/${id}`)).body).toEqual(stored);
});
