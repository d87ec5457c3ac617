import { readFile } from 'node:fs/promises';
import { createTestingService, schemaDifferences } from '@resource-service/framework/testing';
import { afterAll, expect, it } from 'vitest';
import { AppModule } from '../src/app.module.js';
import { IDENTITY } from '../src/identity.js';

const service = await createTestingService(AppModule);

afterAll(() => service.stop());

it.each(['/docs', '/openapi.json'])('serves %s without a token', async (path) => {
  const response = await fetch(service.url + path);
  expect(response.status).toBe(200);
  expect(await response.text()).toContain(IDENTITY.title);
});

it.each(['/health/ready', '/metrics'])('serves %s on the management port', async (path) => {
  expect((await fetch(service.managementUrl + path)).status).toBe(200);
});

it('succeeds with the first request, which `npm start` prints', async () => {
  const { path, body } = IDENTITY.firstRequest;
  expect((await service.send('POST', path, JSON.parse(body))).status).toBe(201);
});

it('serves openapi.json: `npm run openapi` writes it', async () => {
  const served = await (await fetch(`${service.url}/openapi.json`)).text();
  expect(await readFile('openapi.json', 'utf8')).toBe(served);
});

it('has tables that equal its entities: `npm run migration:generate` writes what a migration lacks', async () => {
  expect(await schemaDifferences(service)).toEqual([]);
});
