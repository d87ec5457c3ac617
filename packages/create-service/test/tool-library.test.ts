import { Validator } from '@seriousme/openapi-schema-validator';
import { createTestingService } from '@resource-service/framework/testing';
import type { TestingService } from '@resource-service/framework/testing';
import { setup } from '@resource-service/local/global-setup';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AppModule } from '../../../examples/tool-library/src/app.module.js';
import { authorize, launchBrowser, openDocs } from '../../../test/support/browser.js';
import { faultsIn, spectralReports } from '../../../test/support/document-lint.js';

/* What a user of the example sees of its interface. */

let stopDatabase: (() => Promise<void>) | undefined;
let service: TestingService;

beforeAll(async () => {
  stopDatabase = await setup();
  service = await createTestingService(AppModule);
});

afterAll(async () => {
  await service.stop();
  await stopDatabase?.();
});

it('has a document in which the tools of this project find no fault', async () => {
  const text = await (await fetch(`${service.url}/openapi.json`)).text();
  const validator = new Validator();
  expect(await validator.validate(JSON.parse(text) as Record<string, unknown>)).toEqual({
    valid: true,
  });
  expect(await faultsIn(text, { hasLicense: false })).toEqual([]);
  expect(await spectralReports(text, { hasLicense: false })).toEqual([]);
});

it('has a docs page that creates a tool', async () => {
  const browser = await launchBrowser();
  try {
    const { page, faults } = await openDocs(browser, service.url);
    expect(await page.title()).toBe('Tool Library');
    await authorize(page, service.token);
    const operation = page.locator('.operation', { has: page.locator('h3#createTool') });
    await operation.getByText('Try it').click();
    const form = operation.locator('form');
    await form.getByRole('button', { name: 'Send' }).click();
    const answer = form.locator('.live-response');
    await expect.poll(() => answer.locator('.status').innerText()).toMatch(/^201/);
    expect(JSON.parse((await answer.locator('.response-body code').textContent())!)).toEqual({
      id: 1,
      name: 'Hammer',
      note: '500 g',
      condition: 'good',
    });
    expect(await service.send('GET', '/tools/1')).toMatchObject({ status: 200 });
    expect(faults).toEqual([]);
  } finally {
    await browser.close();
  }
});
