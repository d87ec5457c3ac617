import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/** Chromium as Debian packages it; another one can be named. */
const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Without them Chromium asks hosts of its maker for updates, lists and the like. */
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: EXECUTABLE,
    // The sandbox of Chromium refuses root, and needs namespaces that containers often lack.
    args: ['--no-sandbox', ...QUIET],
  });
}

/** A page with everything that must not happen on it. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors and warnings on the console, exceptions that nobody caught, and requests to other hosts. */
  readonly faults: readonly string[];
}

/**
 * Opens the docs page of a service in a profile of its own, with operations shown.
 *
 * @param script runs in each page before its own scripts
 */
export async function openDocs(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  script?: () => void,
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  if (script) await context.addInitScript(script);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const faults: string[] = [];
  const { origin } = new URL(url);
  page.on('console', (message) => {
    // Chromium reports every failed request, also the look-up that checks a token.
    if (/\/[0-]+$/.test(message.location().url) && message.text().includes('404')) return;
    if (['error', 'warning'].includes(message.type())) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    const target = new URL(request.url());
    if (target.protocol !== 'data:' && target.origin !== origin) faults.push(request.url());
  });
  await page.goto(url);
  return { page, faults };
}

/** Enters a token, and leaves the dialog open with what it says. */
export async function enterToken(page: Page, token: string): Promise<void> {
  await page.locator('.token-button').click();
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('dialog').getByRole('button', { name: 'Enter', exact: true }).click();
}

export async function authorize(page: Page, token: string): Promise<void> {
  await enterToken(page, token);
  await page.getByRole('heading', { name: 'Token entered' }).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
}

export async function forgetToken(page: Page): Promise<void> {
  await page.locator('.token-button').click();
  await page.getByRole('button', { name: 'Forget' }).click();
}
