import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chaptersOf } from '../../src/website/chapters.js';
import { launchBrowser, openDocs } from '../support/browser.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

const PHONE = { viewport: { width: 390, height: 844 } };
const WIDTHS = [1280, 390];

/** Has headings, code, tables that are wide, and pictures. */
const LONG = 'docs/performance.md';

let browser: Browser;
let service: TestService;

/** In the order of the index. */
let paths: readonly string[];

beforeAll(async () => {
  const chapters = chaptersOf('docs/README.md', (path) => readFile(path, 'utf8'));
  [browser, service, paths] = await Promise.all([
    launchBrowser(),
    startTestService(),
    chapters.then((all) => all.map(({ path }) => path)),
  ]);
});

afterAll(() => Promise.all([browser.close(), service.stop()]));

const addressOf = (path: string) => `${service.url}/docs/${path}`;

/** How far the page can be scrolled sideways, in CSS pixels. */
const hidden = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

describe('the pages of documentation', () => {
  it.each(WIDTHS)('do not scroll sideways, and have no errors: %i pixels', async (width) => {
    const { page, faults } = await openDocs(browser, addressOf('docs/README.md'), {
      viewport: { width, height: 844 },
    });
    for (const path of paths) {
      await page.goto(addressOf(path));
      expect({ path, hidden: await hidden(page) }).toEqual({ path, hidden: 0 });
    }
    expect(paths.length).toBeGreaterThan(40);
    expect(faults).toEqual([]);
  });

  it('lead from each to the next, in the order of the index', async () => {
    const { page } = await openDocs(browser, addressOf(paths[0]!));
    const next = page.getByRole('link', { name: /^Next/ });
    const seen = [paths[0]];
    while ((await next.count()) > 0) {
      const before = page.url();
      await next.click();
      seen.push(page.url().slice(addressOf('').length));
      expect(await page.locator('[rel="prev"]').evaluate((link) => link.baseURI)).toBe(page.url());
      const previous = await page.locator('[rel="prev"]').getAttribute('href');
      expect(new URL(previous ?? '', page.url()).href).toBe(before);
    }
    expect(seen).toEqual(paths);
    expect(paths.slice(0, 2)).toEqual(['README.md', 'docs/catalogue.md']);
    expect(paths).toContain('docs/framework/members.md');
  });

  it.each(WIDTHS)('open at the section of their address: %i pixels', async (width) => {
    const { page } = await openDocs(browser, addressOf(LONG), {
      viewport: { width, height: 844 },
    });
    const links = page.locator('.sidebar nav a');
    const hashes = await links.evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).hash));
    expect(hashes.length).toBeGreaterThan(5);
    // The last ones are too near to the end of the page.
    for (const hash of hashes.slice(0, -3)) {
      const fresh = await page.context().newPage();
      await fresh.goto(addressOf(LONG) + hash, { waitUntil: 'load' });
      await expect
        .poll(async () => (await fresh.locator(hash).boundingBox())?.y, { message: hash })
        .toSatisfy((y?: number) => y !== undefined && y >= 0 && y < 100);
      await fresh.close();
    }
  });

  it.each(WIDTHS)('do not move while they load: %i pixels', async (width) => {
    const { page } = await openDocs(browser, addressOf('docs/README.md'), {
      viewport: { width, height: 844 },
    });
    for (const path of ['README.md', 'docs/architecture.md', LONG]) {
      await page.goto(addressOf(path), { waitUntil: 'load' });
      const shift = await page.evaluate(
        () =>
          new Promise<number>((resolve) => {
            let sum = 0;
            const observer = new PerformanceObserver((list) => {
              for (const entry of list.getEntries()) sum += (entry as unknown as Shift).value;
            });
            observer.observe({ type: 'layout-shift', buffered: true });
            requestAnimationFrame(() => setTimeout(() => resolve(sum), 100));
          }),
      );
      expect(shift).toBeLessThan(0.1);
    }
  });

  it.each(WIDTHS)('have no button over code: %i pixels', async (width) => {
    const { page } = await openDocs(browser, `${service.url}/docs`, {
      viewport: { width, height: 844 },
    });
    for (const address of [`${service.url}/docs`, ...paths.map(addressOf)]) {
      await page.goto(address);
      expect({ address, covered: await page.evaluate(coveredCode) }).toEqual({
        address,
        covered: [],
      });
    }
  });

  it('copy each block of code as it is', async () => {
    const { page } = await openDocs(browser, addressOf(LONG), {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const block = page.locator('.code').first();
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByText('Copied').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toBe(await block.locator('code').textContent());
    expect(await readFile(LONG, 'utf8')).toContain(copied);
    expect(await page.locator('.code').count()).toBe(await page.locator('pre').count());
    expect(await page.locator('.code .copy').count()).toBe(await page.locator('.code').count());
  });

  it('have their contents beside the text, where the screen is wide, and mark what is read', async () => {
    const { page } = await openDocs(browser, addressOf(LONG));
    const last = page.locator('.sidebar nav a').nth(4);
    await last.click();
    await expect.poll(() => last.getAttribute('aria-current')).toBe('location');
    expect((await last.boundingBox())!.y).toBeLessThan(900);
    const [text, contents] = await Promise.all([
      page.locator('main').boundingBox(),
      page.locator('.sidebar').boundingBox(),
    ]);
    expect(contents!.x + contents!.width).toBeLessThanOrEqual(text!.x);
    expect((await page.locator('.brand').boundingBox())!.x).toBe(contents!.x);
  });

  it('indent subsections in their contents, and mark the last ones, too', async () => {
    const { page } = await openDocs(browser, addressOf('CONTRIBUTING.md'));
    const indent = (link: Locator) =>
      link.evaluate((a) => Number.parseFloat(getComputedStyle(a).paddingLeft));
    const sections = page.locator('.sidebar nav > ul > li > a');
    const subsections = page.locator('.sidebar nav li li a');
    expect(await indent(subsections.first())).toBeGreaterThan(await indent(sections.first()));
    for (const link of (await page.locator('.sidebar nav a').all()).slice(-4)) {
      await link.click();
      await expect.poll(() => link.getAttribute('aria-current')).toBe('location');
    }
  });

  it('have a column of numbers as wide as the numbers, on a phone', async () => {
    const { page } = await openDocs(browser, addressOf('docs/errors.md'), PHONE);
    const cell = page.locator('td', { hasText: '40001' });
    expect((await cell.boundingBox())!.width).toBeLessThan(80);
  });

  it('have whole tables on paper', async () => {
    const { page } = await openDocs(browser, addressOf(LONG), {
      viewport: { width: 720, height: 1000 },
    });
    await page.emulateMedia({ media: 'print' });
    for (const path of paths) {
      await page.goto(addressOf(path));
      expect({ path, hidden: await hidden(page) }).toEqual({ path, hidden: 0 });
    }
    expect(await page.locator('.copy:visible, .sidebar:visible').count()).toBe(0);
  });

  it('can be read without JavaScript, with their contents, on a phone, too', async () => {
    const { page } = await openDocs(browser, addressOf(LONG), {
      ...PHONE,
      javaScriptEnabled: false,
    });
    const contents = page.locator('.sidebar nav');
    expect(await contents.isVisible()).toBe(false);
    await page.getByText('On this page').click();
    expect(await contents.isVisible()).toBe(true);
    expect(await page.locator('main h1').isVisible()).toBe(true);
  });

  it('show that a table scrolls, and scroll it by the keyboard', async () => {
    const { page } = await openDocs(browser, addressOf(LONG), PHONE);
    const table = page.getByRole('region', { name: /^Table: / }).first();
    const position = () => table.evaluate(({ scrollLeft }) => scrollLeft);
    expect(await table.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeGreaterThan(100);
    expect(await table.evaluate((one) => getComputedStyle(one).backgroundImage)).toContain(
      'linear-gradient',
    );
    await table.focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(position).toBeGreaterThan(0);
  });
});

/** Words of code that are below a button. Runs in the browser. */
function coveredCode(): string[] {
  for (const sample of document.querySelectorAll<HTMLElement>('.samples .code')) {
    sample.style.display = 'block';
  }
  const covered: string[] = [];
  for (const block of document.querySelectorAll('.code')) {
    const button = block.querySelector('.copy')!.getBoundingClientRect();
    const texts = document.createTreeWalker(block.querySelector('code')!, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      // Not the spaces, which can hang over the end of a line.
      for (const { 0: word, index } of (text.textContent ?? '').matchAll(/\S+/g)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const isBelow = ({ top, right }: DOMRect) => right > button.left && top < button.bottom;
        if ([...range.getClientRects()].some(isBelow)) covered.push(word);
      }
    }
  }
  return covered;
}

interface Shift {
  readonly value: number;
}

describe('the pictures', () => {
  it('have labels of at least 11 pixels on a phone, and fit a dark page', async () => {
    const { page } = await openDocs(browser, addressOf(LONG), { ...PHONE, colorScheme: 'dark' });
    const pictures: string[] = [];
    for (const path of [LONG, 'docs/architecture.md']) {
      await page.goto(addressOf(path), { waitUntil: 'load' });
      const sources = await page
        .locator('main img')
        .evaluateAll((all) =>
          all.map((image) => [(image as HTMLImageElement).src, image.clientWidth] as const),
        );
      for (const [source, width] of sources) {
        pictures.push(posix.basename(source));
        await page.goto(source);
        const { scale, size, lightness } = await page.evaluate(() => {
          const drawing = document.querySelector('svg')!;
          const sizes = [...drawing.querySelectorAll('text')].map((text) =>
            Number.parseFloat(getComputedStyle(text).fontSize),
          );
          const background = getComputedStyle(drawing.querySelector('rect')!).fill;
          return {
            scale: 1 / drawing.viewBox.baseVal.width,
            size: Math.min(...sizes),
            lightness: Math.max(...background.match(/\d+/g)!.map(Number)),
          };
        });
        const isLegible = size * scale * width >= 11;
        const isDark = lightness < 60;
        expect({ source, isLegible, isDark }).toEqual({ source, isLegible: true, isDark: true });
      }
    }
    expect(pictures).toEqual(
      ['throughput', 'look-ups', 'latency', 'soak', 'create'].map((name) => `${name}.svg`),
    );
  });
});
