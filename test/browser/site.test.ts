import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../support/browser.js';
import { expectAccessible } from './accessible.js';
import { UNUSABLE_STORAGE } from './unusable-storage.js';

/* The documentation as a site, as `npm run docs:build` writes it. */

const FOLDER = 'dist-docs';

const ORIGIN = 'http://site.test';

/** What readers type, and the part of a page that has it. */
const PLACES = {
  excel: '/docs/spreadsheets.html',
  paginate: '/docs/catalogue.html#list',
  macOS: '/packages/local/',
  pool: '/docs/configuration.html#configuration',
  'add a filter': '/docs/framework/reading.html#parameters-and-filters',
  'slow queries': '/docs/slow-queries.html',
  'delete all': '/docs/delete-all-data.html',
  'turn off docs': '/docs/configuration.html#configuration',
  webhook: '/docs/webhooks.html#webhooks',
  retry: '/docs/typescript-client.html#retries',
  upgrade: '/docs/upgrade.html',
  backup: '/docs/backup-restore.html',
  CORS: '/docs/configuration.html#configuration',
  'rate limit': '/docs/configuration.html#rate-limits',
  timeout: '/docs/limits.html',
  kubernetes: '/docs/kubernetes.html',
  'token expired': '/docs/tokens.html',
  'import csv': '/docs/spreadsheets.html#from-a-spreadsheet-into-the-store',
  'big ids javascript': '/docs/troubleshooting.html#ids-arrive-rounded',
  windows: '/docs/windows.html',
  login: '/docs/sign-in.html',
  'reset database': '/docs/delete-all-data.html',
  'health check': '/docs/operations.html#health',
  swagger: '/docs/framework/documenting-operations.html',
  Mac: '/packages/local/',
  'disable swagger': '/docs/configuration.html#configuration',
  'slow query': '/docs/slow-queries.html',
  'delete everything': '/docs/delete-all-data.html',
  idempotency: '/docs/catalogue.html#change-and-remove',
  throttling: '/docs/configuration.html#rate-limits',
  restore: '/docs/backup-restore.html',
  'proxy prefix': '/docs/nginx.html',
  'reverse proxy': '/docs/nginx.html',
  'several services': '/docs/several-services.html',
  'port in use': '/docs/several-services.html',
  'who did it': '/docs/changes.html#changes',
  audit: '/docs/changes.html#changes',
  testing: '/docs/framework/testing.html',
  mock: '/docs/framework/testing.html',
  'own metrics': '/docs/framework/operation.html#metrics-health-checks-and-log-lines',
  'own verifier': '/docs/framework/credentials.html',
  'add a field': '/CONTRIBUTING.html#add-a-column',
  'total count': '/docs/catalogue.html#list',
  'request id': '/docs/operations.html#log',
  unauthorized: '/docs/troubleshooting.html#requests-fail',
  'database SSL': '/docs/configuration.html#parameters-of-database_url',
  ngrok: '/docs/webhooks.html#on-your-machine',
  downtime: '/docs/upgrade.html',
  // Decisions have these titles.
  Citus: '/docs/scaling.html#citus',
  Traces: '/docs/monitoring.html#traces',
};

const PHONE = { width: 390, height: 844 };

const DESK = { width: 1366, height: 900 };

let browser: Browser;

beforeAll(async () => {
  // CI has built it.
  if (!existsSync(FOLDER)) await promisify(execFile)('npm', ['run', 'docs:build']);
  browser = await launchBrowser();
});

afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));

afterAll(() => browser.close());

/** Opens a page of the site, with what must not happen on it. */
async function open(path: string, viewport = PHONE, script?: () => void) {
  const context = await browser.newContext({ viewport, hasTouch: viewport === PHONE });
  if (script) await context.addInitScript(script);
  await context.route(`${ORIGIN}/**`, async (route) => {
    const { pathname } = new URL(route.request().url());
    const name = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
    const file = join(FOLDER, /\.\w+$/.test(name) ? name : `${name}.html`);
    if (existsSync(file)) await route.fulfill({ path: file });
    else await route.fulfill({ status: 404, path: join(FOLDER, '404.html') });
  });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  // The scripts are there as soon as the address of the page has been read.
  await page.goto(ORIGIN + path, { waitUntil: 'networkidle' });
  return { page, faults };
}

/** Taps an entry, and waits for the page that it leads to. */
async function follow(page: Page, entry: Locator, path: string): Promise<void> {
  await entry.click();
  await expect.poll(() => new URL(page.url()).pathname.replace(/\.html$/, '')).toBe(path);
  await page.locator('main h1').waitFor();
}

describe('on a phone', () => {
  it.each(['light', 'dark'] as const)(
    'the menu at the top has entries, which lead to their pages, with a %s scheme',
    async (colorScheme) => {
      const { page, faults } = await open('/docs/');
      await page.emulateMedia({ colorScheme });
      const menu = page.locator('.VPNavScreen');
      const button = page.getByRole('button', { name: 'mobile navigation' });
      await button.click();
      expect(await menu.getByRole('link', { name: 'Documentation' }).isVisible()).toBe(true);
      const groups = menu.locator('.VPNavScreenMenuGroup > button');
      expect(await groups.allInnerTexts()).toContain('Run it');
      await menu.getByRole('button', { name: 'Run it' }).click();
      await follow(page, menu.getByRole('link', { name: 'Security' }), '/docs/security');
      await menu.waitFor({ state: 'detached' });
      await button.click();
      await follow(page, menu.getByRole('link', { name: 'Documentation' }), '/docs/');
      expect(faults).toEqual([]);
    },
  );

  it('the menu at the side has the same groups', async () => {
    const { page } = await open('/docs/errors');
    await page.getByRole('button', { name: 'Menu', exact: true }).click();
    const side = page.locator('.VPSidebar');
    await side.getByRole('heading', { name: 'Run it' }).click();
    await follow(page, side.getByRole('link', { name: 'Security' }), '/docs/security');
  });

  it('the menu of the page leads to its parts', async () => {
    const { page } = await open('/docs/security');
    await page.getByRole('button', { name: 'On this page' }).click();
    const entry = page.locator('.VPLocalNavOutlineDropdown .outline-link').first();
    const text = await entry.innerText();
    await entry.click();
    await expect.poll(() => new URL(page.url()).hash).not.toBe('');
    const heading = page.locator(new URL(page.url()).hash);
    expect(await heading.innerText()).toContain(text);
    await expect.poll(async () => (await heading.boundingBox())?.y).toBeLessThan(PHONE.height);
  });

  it.each([['can be used', undefined], ...Object.entries(UNUSABLE_STORAGE)])(
    'the search finds a page where the storage of the browser %s',
    async (_name, script) => {
      const { page, faults } = await open('/docs/', PHONE, script);
      await page.getByRole('button', { name: 'Search' }).click();
      await page.getByRole('searchbox').fill('Kubernetes');
      await page.locator('.VPLocalSearchBox .result').first().click();
      await page.locator('.VPLocalSearchBox').waitFor({ state: 'detached' });
      expect(new URL(page.url()).pathname).not.toBe('/docs/');
      expect(faults).toEqual([]);
    },
  );

  it('no page is wider than the screen', async () => {
    const { page } = await open('/docs/');
    const pages = await page
      .locator('main a[href^="/"]')
      .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).pathname));
    // They are rendered without it.
    await page.route('**/*.js', (route) => route.abort());
    const wide: string[] = [];
    for (const path of ['/', ...new Set(pages)]) {
      await page.goto(ORIGIN + path);
      for (const width of [PHONE.width, 320]) {
        await page.setViewportSize({ ...PHONE, width });
        const scrolled = await page.evaluate(() => document.documentElement.scrollWidth);
        if (scrolled > width) wide.push(`${path}: ${scrolled} of ${width}`);
      }
    }
    expect(wide).toEqual([]);
  });
});

describe('on a desk', () => {
  it('a stranger reads what it is, for whom, and how to start, call and extend it', async () => {
    const { page, faults } = await open('/', DESK);
    for (const title of ['What it is', 'For whom', 'Start it', 'Call it', 'Make your own']) {
      await page.getByRole('heading', { name: title }).waitFor();
    }
    expect(await page.locator('.vp-doc pre').count()).toBe(3);
    const logo = page.locator('.VPNavBarTitle img');
    expect(await logo.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
    expect(await page.locator('link[rel="icon"]').getAttribute('href')).toMatch(/^data:image\/svg/);
    const isDark = () => page.evaluate(() => document.documentElement.classList.contains('dark'));
    expect(await isDark()).toBe(false);
    await page.getByRole('switch').first().click();
    expect(await isDark()).toBe(true);
    await follow(page, page.getByRole('link', { name: 'Start it', exact: true }), '/start');
    expect(faults).toEqual([]);
  });

  it('a page that does not exist leads to the home page', async () => {
    const { page } = await open('/nowhere', DESK);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await page.getByRole('link', { name: 'to the home page' }).click();
    await page.getByRole('heading', { name: 'What it is' }).waitFor();
  });

  it('names in the first column of tables are whole', async () => {
    const { page } = await open('/docs/configuration', DESK);
    const broken = await page
      .locator('td:first-child code')
      .evaluateAll((all) =>
        all.filter((code) => code.getClientRects().length > 1).map((code) => code.textContent),
      );
    expect(broken).toEqual([]);
  });

  it('the search finds what readers call it, decisions last, and says that it loads', async () => {
    const { page } = await open('/docs/', DESK);
    await page.getByRole('button', { name: 'Search' }).click();
    const field = page.getByRole('searchbox');
    const said = () =>
      page.locator('.results').evaluate((list) => getComputedStyle(list, '::before').content);
    expect(await said()).toBe('none');
    await field.fill('e');
    expect(await said()).toContain('loading');
    const results = page.locator('.VPLocalSearchBox .result');
    for (const [words, place] of Object.entries(PLACES)) {
      await field.fill(words);
      const first = () => results.first().getAttribute('href');
      await expect.poll(first, { message: words }).toContain(place);
    }
  });
});

it.each([PHONE, DESK])('is accessible on $width pixels', async (viewport) => {
  for (const path of ['/', '/docs/', '/docs/configuration', '/nowhere']) {
    const { page } = await open(path, viewport);
    await expectAccessible(page, path);
  }
  const { page } = await open('/docs/', viewport);
  await page.getByRole('button', { name: 'Search' }).click();
  await expectAccessible(page, 'the search');
  await page.getByRole('searchbox').fill('Kubernetes');
  await page.getByRole('option').nth(1).waitFor();
  await expectAccessible(page, 'results');
  await page.keyboard.press('ArrowDown');
  const selected = page.getByRole('option', { selected: true });
  const id = await page.getByRole('searchbox').getAttribute('aria-activedescendant');
  expect(await selected.getAttribute('id')).toBe(id);
  await page.getByRole('searchbox').fill('quetzalcoatl');
  await page.getByText('No results').waitFor();
  await expectAccessible(page, 'no results');
});

it.each([768, 1000, 1280, 1920])('has no menu without entries on %i pixels', async (width) => {
  const { page } = await open('/docs/errors', { width, height: 900 });
  for (const button of await page.locator('header button[aria-haspopup]:visible').all()) {
    await button.hover();
    await button
      .locator('xpath=..')
      .locator('a:visible, [role="switch"]:visible')
      .first()
      .waitFor();
  }
  // The menu at the side is enough.
  expect(await page.locator('.VPNavBarMenu').isVisible()).toBe(false);
});
