import { randomUUID } from 'node:crypto';
import { createTestingService } from '@resource-service/framework/testing';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { AppModule } from '../src/app.module.js';

const service = await createTestingService(AppModule);

afterAll(() => service.stop());

let toolId: number;

beforeEach(async () => {
  const { body } = await service.send('POST', '/tools', { name: 'Hammer' });
  toolId = (body as { id: number }).id;
});

const lend = (borrower = 'Ada', headers?: Record<string, string>) =>
  service.send('POST', '/loans', { toolId, borrower }, headers);

const borrower = async () =>
  ((await service.send('GET', `/tools/${toolId}`)).body as { borrower?: string }).borrower;

it('lends a tool, and gets it back', async () => {
  const lent = await lend();
  expect(lent).toMatchObject({ status: 201, body: { toolId, borrower: 'Ada' } });
  expect(await borrower()).toBe('Ada');
  const path = lent.headers.get('Location')!;
  expect((await service.send('GET', path)).body).toEqual(lent.body);
  expect(await lend('Bob')).toMatchObject({
    status: 409,
    body: { error: 40930, message: 'the tool is on loan' },
  });
  expect((await service.send('DELETE', path)).status).toBe(204);
  expect(await borrower()).toBeUndefined();
  expect(await service.send('DELETE', path)).toMatchObject({ status: 404, body: { error: 40430 } });
});

it('lends a tool once, however often a request with an Idempotency-Key is sent', async () => {
  const key = { 'Idempotency-Key': randomUUID() };
  const answers = await Promise.all([1, 2, 3].map(() => lend('Ada', key)));
  const [first] = answers;
  for (const answer of answers) expect(answer).toMatchObject({ status: 201, body: first!.body });
  const { id } = first!.body as { id: string };
  const { body } = await service.send('GET', `/loan-changes?loan=${id}`);
  expect(body).toMatchObject([{ kind: 'created', id }]);
});

it('lends a tool to one of those who ask at the same time', async () => {
  const answers = await Promise.all(['Ada', 'Bob', 'Cleo', 'Dan'].map((name) => lend(name)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409]);
  const [lent] = answers.filter(({ status }) => status === 201);
  expect(lent?.body).toMatchObject({ borrower: await borrower() });
});

it('refuses a tool that does not exist', async () => {
  expect(await service.send('POST', '/loans', { toolId: 9_999, borrower: 'Ada' })).toMatchObject({
    status: 409,
    body: { error: 40931 },
  });
});

it('keeps a tool that is on loan', async () => {
  await lend();
  expect(await service.send('DELETE', `/tools/${toolId}`)).toMatchObject({
    status: 409,
    body: { error: 40920 },
  });
});

it('lists loans with their tools', async () => {
  const { body: loan } = await lend();
  const tool = await service.send('GET', `/tools/${toolId}`);
  const { body } = await service.send(
    'GET',
    `/loans?expand=tool&ids=${(loan as { id: string }).id}`,
  );
  expect(body).toEqual([{ ...(loan as object), tool: tool.body }]);
});

it('keeps a record of who had which tool', async () => {
  const lent = await lend();
  const { id } = lent.body as { id: string };
  await service.send('DELETE', `/loans/${id}`);
  const { body } = await service.send('GET', `/loan-changes?loan=${id}`);
  expect(body).toMatchObject([
    { kind: 'created', id, loan: lent.body },
    { kind: 'removed', id },
  ]);
});

it('needs the scope for loans', async () => {
  const Authorization = `Bearer ${await service.tokenWith('tools:write', 'loans:read')}`;
  expect(await lend('Ada', { Authorization })).toMatchObject({
    status: 403,
    body: { message: expect.stringContaining('tools:lend') as string },
  });
  expect((await service.send('GET', '/loans', undefined, { Authorization })).status).toBe(200);
});
