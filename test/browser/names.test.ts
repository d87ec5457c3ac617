import { apiReference } from '@resource-service/api-reference';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from '../support/browser.js';

/* The docs page of a document whose names the page itself, or the browser, has, too. */

const ORIGIN = 'http://documents.test';

/** Of fields of a form, and of properties of the list of its fields. */
const OF_FIELDS = ['body', 'file', 'cancel', 'content-type', 'length', 'item'];

/** Of properties of a form. */
const OF_FORMS = ['dataset', 'elements', 'contains', 'append', 'closest', 'querySelector'];

const NAMES = [...OF_FIELDS, ...OF_FORMS];

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Tool Library', version: '1.0.0' },
  paths: {
    '/hand-tools': {
      get: {
        operationId: 'listHandTools',
        summary: 'List hand tools',
        tags: ['hand tools'],
        parameters: NAMES.map((name) => ({
          name,
          in: 'query',
          description: 'Any text.',
          schema: { type: 'string' },
        })),
        responses: {
          200: {
            description: 'A page of hand tools.',
            content: { 'application/json': { schema: { type: 'array', items: {} } } },
          },
        },
      },
    },
  },
};

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(() => browser.close());

interface Opened {
  readonly page: Page;
  /** The queries of the requests that forms have sent. */
  readonly queries: readonly string[];
  /** Exceptions that nobody caught. */
  readonly faults: readonly string[];
}

async function open(): Promise<Opened> {
  const files = apiReference(JSON.stringify(DOCUMENT));
  const queries: string[] = [];
  const faults: string[] = [];
  const context = await browser.newContext();
  await context.route(`${ORIGIN}/**`, async (route) => {
    const { pathname, search } = new URL(route.request().url());
    const file = files.get(pathname.slice(1));
    if (file) await route.fulfill({ contentType: file.type, body: await file.content() });
    else {
      queries.push(search);
      await route.fulfill({ contentType: 'application/json', body: '[]' });
    }
  });
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(String(error)));
  await page.goto(`${ORIGIN}/docs`);
  return { page, queries, faults };
}

it('a form sends what is typed into its fields, and keeps it, whatever they are called', async () => {
  const { page, queries, faults } = await open();
  const form = page.locator('.try form');
  const fields = form.locator('[data-in]');
  await page.locator('.try summary').click();
  for (const [index, name] of NAMES.entries()) await fields.nth(index).fill(`a ${name}`);
  await form.getByRole('button', { name: 'Send', exact: true }).click();
  await form.locator('.live-response .status', { hasText: '200' }).waitFor();
  const sent = new URLSearchParams(NAMES.map((name) => [name, `a ${name}`]));
  expect(queries).toEqual([`?${sent.toString()}`]);
  await page.reload();
  await fields.first().waitFor();
  for (const [index, name] of OF_FIELDS.entries()) {
    expect(await fields.nth(index).inputValue()).toBe(`a ${name}`);
  }
  expect(faults).toEqual([]);
});

it('the contents mark a part whose name has spaces', async () => {
  const { page, faults } = await open();
  const link = page.locator('.sidebar nav a.title').first();
  expect(await link.textContent()).toBe('Hand tools');
  await link.click();
  await page.locator('.sidebar nav a.title[aria-current="location"]').waitFor();
  expect(faults).toEqual([]);
});
