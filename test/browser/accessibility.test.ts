import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, it } from 'vitest';
import { authorize, launchBrowser, openDocs } from '../support/browser.js';
import { AUDIENCE, CLIENT_ID, SignInProvider } from '../support/sign-in-provider.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { expectAccessible } from './accessible.js';

/* What axe finds by itself, in the states of the pages. What it cannot find, other tests look for. */

let browser: Browser;
let provider: SignInProvider;
let service: TestService;

beforeAll(async () => {
  provider = await SignInProvider.start();
  const environment = {
    AUTH_JWT_ISSUER: provider.url,
    AUTH_JWT_AUDIENCE: AUDIENCE,
    DOCS_OAUTH_CLIENT_ID: CLIENT_ID,
  };
  [browser, service] = await Promise.all([launchBrowser(), startTestService({ environment })]);
});

afterAll(() => Promise.all([browser.close(), service.stop(), provider.stop()]));

it.each([1280, 390])('the docs page is accessible in every state, on %i pixels', async (width) => {
  const { page } = await openDocs(browser, service.url, { viewport: { width, height: 900 } });
  await expectAccessible(page, 'at first');
  await page.keyboard.press('/');
  await page.getByRole('searchbox').fill('plant');
  await expectAccessible(page, 'while searching');
  await page.keyboard.press('Escape');

  await page.locator('.token-button').click();
  await expectAccessible(page, 'while a token is entered');
  await page.keyboard.press('Escape');
  const part = page.locator('.operation', { has: page.locator('h3#createPlant') });
  await part.getByText('Try it').click();
  const answer = part.locator('.live-response');
  for (const [state, token, status] of [
    ['with a refusal', undefined, '401'],
    ['with an answer', TOKEN, '200'],
  ] as const) {
    if (token !== undefined) await authorize(page, token);
    await part.getByRole('button', { name: 'Send', exact: true }).click();
    await answer.locator('.status', { hasText: status }).waitFor();
    await answer.getByRole('link', { name: 'Download' }).waitFor();
    await part
      .locator('details')
      .evaluateAll((all) => all.forEach((one) => ((one as HTMLDetailsElement).open = true)));
    await expectAccessible(page, state);
  }
  await page.locator('.token-button').click();
  await expectAccessible(page, 'with the token');
});

it('the page that signs in is accessible', async () => {
  const page = await browser.newPage();
  await page.goto(`${service.url}/docs/sign-in?error=access_denied&state=another`);
  await page.getByRole('link', { name: 'Try again' }).waitFor();
  await expectAccessible(page, 'after a refusal');
});
