import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checks, TestedService } from '../../packages/conformance/src/index.js';
import type { OpenApiDocument } from '../../packages/conformance/src/index.js';
import { DOCUMENT } from '../support/application.js';
import { issue } from '../support/issued-tokens.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

const document = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as OpenApiDocument;

let service: TestService;
let tested: TestedService;

beforeAll(async () => {
  service = await startTestService();
  const words = ['create', '--name', 'reader', '--scope', 'plants:read'];
  const readToken = await issue(service.database.url, ...words);
  tested = new TestedService(document, { url: service.url, token: TOKEN, readToken });
});

afterAll(() => service.stop());

it.each(checks(document).map((check) => [check.name, check] as const))('%s', async (_, check) => {
  expect(await check.run(tested)).not.toMatchObject({ outcome: 'fail' });
});

it('leaves nothing', async () => {
  expect(await tested.removeRows()).toEqual([]);
});
