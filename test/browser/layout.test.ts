import { readFile } from 'node:fs/promises';
import { apiReference, signInPage } from '@resource-service/api-reference';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ERRORS } from '../../packages/framework/src/errors/common-errors.js';
import { launchBrowser } from '../support/browser.js';

/* The docs page of any document, in windows of any width: nothing sticks out of what it is in, and nothing is cut off. */

const WIDTHS = [320, 360, 390, 768, 1024, 1100, 1101, 1200, 1280, 1366, 1400, 1440, 1920];

const ORIGIN = 'http://documents.test';

/** As long as the names of columns can be (63 bytes), and no place to break them. */
const LONG = 'OfTheInternationalAssociationOfBotanicalGardensAndArboreta';

const documents = {
  store: () => readFile('openapi.json', 'utf8'),
  gardens: () => readFile('examples/gardens/openapi.json', 'utf8'),
  'a service of another team': () => readFile('examples/tool-library/openapi.json', 'utf8'),
  'a service with long names': withLongNames,
};

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(() => browser.close());

it.each(Object.entries(documents))(
  'the page of %s has everything in its place in a window of any width',
  async (_name, documentOf) => {
    const page = await open(await documentOf());
    await expectInPlace(page, 'at first');
    await page.locator('.token-button').click();
    await page.getByLabel('Token', { exact: true }).fill('t'.repeat(300));
    await expectInPlace(page, 'while a token is entered');
    await page.getByRole('dialog').getByRole('button', { name: 'Enter', exact: true }).click();
    await page.getByRole('heading', { name: 'Token entered' }).waitFor();
    await expectInPlace(page, 'with the dialog of the token');
    await page.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('searchbox').fill('a');
    await expectInPlace(page, 'while searching');
    await page.keyboard.press('Escape');

    const form = page.locator('.try form').first();
    await page.getByText('Try it').first().click();
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await form.getByRole('link', { name: 'Download' }).waitFor();
    await page.evaluate(() => {
      for (const details of document.querySelectorAll('details')) details.open = true;
    });
    for (const language of ['TypeScript', 'Python', 'Go']) {
      await page.getByRole('radio', { name: language }).check({ force: true });
      await expectInPlace(page, `with everything opened, in ${language}`, [390, 1280]);
    }
    await page.getByRole('radio', { name: 'curl' }).check({ force: true });
    await expectInPlace(page, 'with everything opened');
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectInPlace(page, 'with everything opened, in the dark', [390, 1280]);
    await page.emulateMedia({ media: 'print' });
    await expectInPlace(page, 'on paper', [720]);
  },
);

it('the page that signs in has everything in its place in a window of any width', async () => {
  const page = await open(await withLongNames());
  await page.goto(`${ORIGIN}/docs/sign-in`);
  await expectInPlace(page, 'when nobody can sign in');
});

/** Opens the page of a document whose service refuses every request but the trial of the token, with long texts. */
async function open(document: string): Promise<Page> {
  const issuer = `https://${LONG}.example.com`;
  const files = apiReference(document, {
    version: '1.0.0',
    errors: Object.values(ERRORS),
    homepage: 'https://example.com',
    client: { package: '@tool-library/client', tarball: 'docs/client.tgz' },
    issuer,
  });
  const signIn = signInPage(document, { issuer, audience: 'audience', clientId: 'docs' });
  const context = await browser.newContext();
  await context.route(`${ORIGIN}/**`, async (route) => {
    const { pathname } = new URL(route.request().url());
    const file = files.get(pathname.slice(1));
    if (pathname === '/docs/sign-in')
      await route.fulfill({ contentType: 'text/html', body: signIn() });
    else if (file) await route.fulfill({ contentType: file.type, body: await file.content() });
    else if (route.request().headers()['authorization']?.endsWith('t')) {
      await route.fulfill({
        // That of the trial does not matter.
        status: 400,
        headers: { [`X-${LONG}`]: LONG.repeat(3), 'Content-Type': 'application/json' },
        body: JSON.stringify({ error: 40003, message: LONG.repeat(20) }),
      });
    }
  });
  const page = await context.newPage();
  await page.goto(`${ORIGIN}/docs`);
  await page.locator('.token-button').waitFor();
  return page;
}

/** The document of a service whose names, scopes and enumerated values are long, and which describes itself at length. */
async function withLongNames(): Promise<string> {
  const text = await documents['a service of another team']();
  return text
    .replaceAll(/(?:tool|note|loan)s?/gi, (word) => word + LONG)
    .replaceAll(
      /"maxLength": ?\d+/g,
      (limit) => `${limit}, "enum": ["${LONG}", "${LONG.toUpperCase()}"], "default": "${LONG}"`,
    )
    .replace(
      '## ',
      () => `## Prose ${LONG}\\n\\n${PROSE.replaceAll('\n', String.raw`\n`)}\\n\\n## `,
    );
}

/** What Markdown can have. */
const PROSE = `### Heading ${LONG}

| ${'column | '.repeat(8)}
| ${'--- | '.repeat(8)}
| ${`${LONG} | `.repeat(8)}

- <https://example.com/${LONG}?${LONG}>
- \`${LONG}${LONG}\`

> ${LONG}${LONG}

    ${LONG} ${LONG} ${LONG}

![A picture](data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20width='2000'%20height='9'/%3E)`;

async function expectInPlace(page: Page, state: string, widths = WIDTHS): Promise<void> {
  const found: Record<number, string[]> = {};
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const misplaced = await page.evaluate(outOfPlace);
    if (misplaced.length > 0) found[width] = misplaced.slice(0, 5);
  }
  expect({ state, found }).toEqual({ state, found: {} });
}

/** What is wider than what it is in, has text that is cut off, or is over something else. Runs in the browser. */
function outOfPlace(): string[] {
  const TOLERANCE = 1;
  const nameOf = (element: Element) => {
    const names: string[] = [];
    for (let one: Element | null = element; one && names.length < 4; one = one.parentElement) {
      names.unshift(one.tagName.toLowerCase() + (one.className && `.${one.className}`));
    }
    return `${names.join(' > ')}: ${element.textContent?.trim().slice(0, 30)}`;
  };
  // What only screen readers see is one pixel wide.
  const shown = [...document.body.querySelectorAll<HTMLElement>('*')].filter(
    (one) =>
      one.checkVisibility() && one.closest('.unseen, .skip, table:not([class]) > *') === null,
  );
  const faults: string[] = [];
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.push(`The page can be scrolled to ${scrollWidth} pixels`);
  for (const element of shown) {
    // Inline elements have no width of their own, and a field for a single line scrolls.
    const scrolls = element.matches('input, select, table:not([class])');
    if (
      !scrolls &&
      element.clientWidth > 0 &&
      element.scrollWidth > element.clientWidth + TOLERANCE
    ) {
      faults.push(`${element.scrollWidth} pixels in ${element.clientWidth}: ${nameOf(element)}`);
    }
    if (!element.matches('table, pre, code, form, img, input, select, textarea, button')) continue;
    const box = element.getBoundingClientRect();
    const around = element.parentElement!.getBoundingClientRect();
    if (box.left < around.left - TOLERANCE || box.right > around.right + TOLERANCE) {
      faults.push(`sticks out: ${nameOf(element)}`);
    }
  }
  for (const element of shown) {
    const code = element.closest('.reference-text')?.nextElementSibling;
    if (!code) continue;
    const [one, other] = [element.getBoundingClientRect(), code.getBoundingClientRect()];
    const isBeside = one.bottom > other.top + TOLERANCE && one.top < other.bottom - TOLERANCE;
    if (isBeside && one.right > other.left + TOLERANCE)
      faults.push(`over code: ${nameOf(element)}`);
  }
  const sidebar = document.querySelector('.sidebar');
  if (sidebar?.checkVisibility() && innerWidth > 800) {
    const { left } = document.querySelector('main')!.getBoundingClientRect();
    if (left < sidebar.getBoundingClientRect().right) faults.push('The text is over the contents');
  }
  return faults;
}
