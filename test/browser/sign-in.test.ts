import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { authorize, launchBrowser } from '../support/browser.js';
import { UNUSABLE_STORAGE } from './unusable-storage.js';
import { OPERATIONS } from '../support/operations.js';
import { AUDIENCE, CLIENT_ID, READER, SignInProvider } from '../support/sign-in-provider.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/** Where the docs page is published: behind a proxy, and below a path. */
const PUBLIC_BASE_URL = 'https://shop.example.com/store/api';

const PLANT = '{"id": 1001, "name": "Monstera"}';

let browser: Browser;
let provider: SignInProvider;
let service: TestService;
let below: TestService;

beforeAll(async () => {
  provider = await SignInProvider.start();
  const environment = {
    AUTH_JWT_ISSUER: provider.url,
    AUTH_JWT_AUDIENCE: AUDIENCE,
    DOCS_OAUTH_CLIENT_ID: CLIENT_ID,
  };
  [browser, service, below] = await Promise.all([
    launchBrowser(),
    startTestService({ environment }),
    startTestService({ environment: { ...environment, PUBLIC_BASE_URL } }),
  ]);
  provider.register(`${service.url}/docs/sign-in`, `${below.url}/docs/sign-in`);
});

afterAll(() => Promise.all([browser.close(), service.stop(), below.stop(), provider.stop()]));

beforeEach(() => provider.reset());

/** Opens the docs page in a profile of its own, in which nobody is signed in. */
async function open(url = service.url): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  // The pages of the provider load a font.
  await context.route(/^https:\/\/fonts\./, (route) => route.abort());
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(`${url}/docs`);
  return page;
}

const dialog = (page: Page) => page.getByRole('dialog');

/** Goes to the provider. */
async function leave(page: Page): Promise<void> {
  await page.locator('.token-button').click();
  await dialog(page)
    .getByRole('button', { name: /^Sign in/ })
    .click();
}

/** Signs in on the pages of the provider. */
async function enterAs(page: Page, person: string): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(person);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

async function signIn(page: Page, person = 'gardener'): Promise<void> {
  await leave(page);
  await enterAs(page, person);
  await page.getByRole('button', { name: 'Token entered' }).waitFor({ state: 'attached' });
}

/** Creates a plant by the form, and returns what the page shows of the answer. */
async function create(page: Page) {
  const form = page.locator('form[data-name="createPlant"]');
  if (!(await form.isVisible())) await form.locator('xpath=..').getByText('Try it').click();
  await form.locator('textarea').fill(PLANT);
  await form.getByRole('button', { name: 'Send' }).click();
  await form.locator('[type="submit"]:enabled').waitFor();
  return {
    form,
    status: (await form.locator('.live-response .status').innerText()).slice(0, 3),
    body: (await form.locator('.response-body code').textContent()) ?? '',
  };
}

/** What the page of the sign-in says when it fails. */
async function problemOf(page: Page): Promise<string> {
  await page.getByRole('link', { name: 'Try again' }).waitFor();
  return page.getByRole('alert').innerText();
}

/** Everything that the browser keeps for the service. */
const stored = (page: Page) =>
  page.evaluate(() => ({
    local: Object.fromEntries(Object.entries(localStorage)) as Record<string, string>,
    session: Object.fromEntries(Object.entries(sessionStorage)),
  }));

const closeAll = () => Promise.all(browser.contexts().map((context) => context.close()));

describe('signing in', () => {
  afterEach(closeAll);

  it.each([
    ['at the root', () => service],
    ['below a path, behind a proxy', () => below],
  ])(
    '%s asks for all scopes and the audience, with PKCE, state and nonce, and keeps a valid token alone',
    async (_name, served) => {
      const page = await open(served().url);
      const faults: string[] = [];
      page.on('console', (message) => {
        if (message.text().includes('Content Security Policy')) faults.push(message.text());
      });
      await signIn(page);
      expect(page.url()).toMatch(new RegExp(`^${served().url}/docs(#\\w+)?$`));

      const asked = provider.requests.find((request) => request.startsWith('GET /auth?'))!;
      const { searchParams } = new URL(asked.slice('GET '.length), provider.url);
      const scopes = [...new Set(OPERATIONS.map(({ scope }) => scope))].toSorted();
      expect(Object.fromEntries(searchParams)).toEqual({
        response_type: 'code',
        client_id: CLIENT_ID,
        redirect_uri: `${served().url}/docs/sign-in`,
        scope: ['openid', ...scopes].join(' '),
        audience: AUDIENCE,
        resource: AUDIENCE,
        state: expect.stringMatching(/^[\w-]{43}$/),
        nonce: expect.stringMatching(/^[\w-]{43}$/),
        code_challenge: expect.stringMatching(/^[\w-]{43}$/),
        code_challenge_method: 'S256',
      });

      // Where a pasted one is.
      const { local, session } = await stored(page);
      expect(session).toEqual({});
      expect(Object.keys(local)).toEqual(['authorized']);
      expect(JSON.parse(local['authorized']!)).toEqual({
        bearerAuth: {
          name: 'bearerAuth',
          schema: { type: 'http', scheme: 'bearer' },
          value: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
        },
      });

      const { status, body } = await create(page);
      expect(status).toBe('200');
      expect(JSON.parse(body)).toEqual({ name: 'Monstera' });
      expect(faults).toEqual([]);
    },
  );

  it('has a button of its own, until there is a token', async () => {
    const page = await open();
    const button = page.locator('.sidebar').getByRole('button', { name: 'Sign in' });
    await button.click();
    await enterAs(page, 'gardener');
    await page.getByRole('button', { name: 'Token entered' }).waitFor({ state: 'attached' });
    expect(await button.count()).toBe(0);
    await page.setViewportSize({ width: 320, height: 600 });
    await page.locator('.token-button').click();
    await dialog(page).getByRole('button', { name: 'Forget' }).click();
    expect((await button.boundingBox())?.x).toBeGreaterThan(40);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  });

  it('keeps the token in its tab only, if the reader chooses so', async () => {
    const page = await open();
    await page.locator('.token-button').click();
    const choice = page.getByLabel('Keep the token in this tab only');
    await choice.check();
    await page.keyboard.press('Escape');
    await signIn(page);
    const { local, session } = await stored(page);
    expect(local).toEqual({});
    expect(Object.keys(session).toSorted()).toEqual(['authorized', 'tab-only']);
    await page.locator('.token-button').click();
    await page.getByText('This tab keeps it').waitFor();
    await page.keyboard.press('Escape');
    expect((await create(page)).status).toBe('200');
    const other = await page.context().newPage();
    await other.goto(`${service.url}/docs`);
    expect(await other.locator('.token-button').innerText()).toBe('Enter a token');
    await page.locator('.token-button').click();
    await dialog(page).getByRole('button', { name: 'Forget' }).click();
    await page.locator('.token-button').click();
    await choice.uncheck();
    await page.keyboard.press('Escape');
    // The provider knows the person, so it asks nothing.
    await leave(page);
    await expect.poll(async () => Object.keys((await stored(page)).local)).toEqual(['authorized']);
  });

  it('shows a 403 to a person without the scope', async () => {
    const page = await open();
    await signIn(page, READER);
    const { status, body } = await create(page);
    expect(status).toBe('403');
    expect(JSON.parse(body)).toMatchObject({
      error: 40300,
      message: expect.stringContaining('plants:write'),
    });
  });

  it('leads back to what the reader has typed, also when the token has expired', async () => {
    const page = await open();
    const { form } = await create(page);
    expect(await form.locator('.problem').innerText()).toBe(
      'The service accepts only requests with a valid token.',
    );
    await form.getByRole('button', { name: 'Sign in' }).click();
    await enterAs(page, 'gardener');
    await page.waitForURL(`${service.url}/docs#createPlant`);
    await page.getByRole('button', { name: 'Token entered' }).waitFor({ state: 'attached' });
    expect(await form.locator('textarea').inputValue()).toBe(PLANT);
    await expect
      .poll(async () => (await page.locator('h3#createPlant').boundingBox())?.y)
      .toBeLessThan(100);
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByText('200 OK').waitFor();

    const { local } = await stored(page);
    const token = /[\w-]+\.[\w-]+\.[\w-]+/;
    const expired = local['authorized']!.replace(token, await provider.expiredToken());
    await page.evaluate((value) => localStorage.setItem('authorized', value), expired);
    expect((await create(page)).status).toBe('401');
    expect(await form.locator('.problem').innerText()).toBe('Your token has expired.');
    // The provider knows the person, so it asks nothing.
    await form.getByRole('button', { name: 'Sign in' }).click();
    await expect.poll(async () => (await stored(page)).local['authorized']).not.toBe(expired);
    await page.waitForURL(`${service.url}/docs#createPlant`);
    expect((await create(page)).status).toBe('200');
  });

  it('can be repeated, and forgotten', async () => {
    const page = await open();
    await signIn(page);
    const before = (await stored(page)).local['authorized'];
    await leave(page);
    await page.waitForURL((url) => url.pathname === '/docs');
    await expect.poll(async () => (await stored(page)).local['authorized']).not.toBe(before);
    await page.locator('.token-button').click();
    await dialog(page).getByRole('button', { name: 'Forget' }).click();
    expect((await stored(page)).local).toEqual({});
    expect((await create(page)).status).toBe('401');
  });

  it('is not needed for a token that is pasted', async () => {
    const page = await open();
    await authorize(page, TOKEN);
    expect((await create(page)).status).toBe('200');
    expect(provider.requests).toEqual([]);
  });

  it('says that it was canceled, on any screen', async () => {
    const page = await open();
    const isWithin = async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 800 });
          expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
        }
      }
    };
    await page.locator('.token-button').click();
    await isWithin();
    await dialog(page)
      .getByRole('button', { name: /^Sign in/ })
      .click();
    await page.getByRole('link', { name: 'Cancel' }).click();
    const { host } = new URL(provider.url);
    expect(await problemOf(page)).toBe(`The sign-in was canceled, or ${host} denied it.`);
    await isWithin();
    expect(page.url()).toBe(`${service.url}/docs/sign-in#authentication`);
    expect(await stored(page)).toEqual({ local: {}, session: {} });
    await page.getByRole('link', { name: 'Try again' }).click();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await problemOf(page);
    await page.getByRole('link', { name: 'Back' }).click();
    await page.waitForURL(`${service.url}/docs#authentication`);
    await signIn(page);
  });
});

describe.each(Object.entries(UNUSABLE_STORAGE))(
  'where the storage of a browser %s',
  (_name, script) => {
    afterEach(closeAll);

    it('says why nobody can sign in, and how to go on', async () => {
      const page = await open();
      await page.addInitScript(script);
      await page.reload();
      const { form } = await create(page);
      await form.getByRole('button', { name: 'Sign in' }).click();
      expect(await problemOf(page)).toContain('This browser keeps no data of this site');
      const asked = provider.requests.filter((request) => request.startsWith('GET /auth?'));
      expect(asked).toEqual([]);
      await page.getByRole('link', { name: 'Back' }).click();
      await page.waitForURL(`${service.url}/docs#createPlant`);
      await authorize(page, TOKEN);
      expect((await create(page)).status).toBe('200');
    });
  },
);

describe('a sign-in that fails', () => {
  /** The provider knows the person, so it leads back at once. */
  let page: Page;

  beforeAll(async () => {
    page = await open();
    await signIn(page);
  });

  beforeEach(() => page.evaluate(() => localStorage.clear()));

  afterEach(async () => {
    await page.unrouteAll();
    expect(await stored(page)).toEqual({ local: {}, session: {} });
  });

  afterAll(closeAll);

  /** Signs in, or follows a link with an answer of somebody else. */
  async function problemAt(query = ''): Promise<string> {
    await page.goto(`${service.url}/docs/sign-in${query}`);
    return problemOf(page);
  }

  it.each([
    ['another state', (url: URL) => url.searchParams.set('state', 'another')],
    ['no state', (url: URL) => url.searchParams.delete('state')],
    ['another issuer', (url: URL) => url.searchParams.set('iss', 'https://other.example.com')],
  ])('ignores an answer with %s', async (_name, change) => {
    provider.behaviour.change = change;
    expect(await problemAt()).toContain('belongs to no sign-in of this tab');
    expect(provider.requests.filter((request) => request.startsWith('GET /auth?'))).toHaveLength(1);
    expect(provider.requests.filter((request) => request.startsWith('POST /token'))).toEqual([]);
  });

  it('ignores an answer that nobody in this tab has asked for', async () => {
    expect(await problemAt('?code=stolen&state=stolen')).toContain(
      'belongs to no sign-in of this tab',
    );
    expect(provider.requests.filter((request) => request.startsWith('POST /token'))).toEqual([]);
  });

  it('refuses an ID token with another nonce', async () => {
    await page.route(`${provider.url}/auth?*`, async (route) => {
      const url = new URL(route.request().url());
      if (url.searchParams.get('nonce') === 'another') await route.continue();
      else {
        url.searchParams.set('nonce', 'another');
        await route.fulfill({ status: 302, headers: { Location: url.href } });
      }
    });
    expect(await problemAt()).toMatch(/^The response of 127\.0\.0\.1:\d+ is not valid: .*nonce/);
  });

  it('says when the issuer does not permit the page to ask for a token', async () => {
    provider.behaviour.allowsOrigin = false;
    expect(await problemAt()).toContain('does not permit requests of http://127.0.0.1');
  });

  it('says when the issuer refuses the code', async () => {
    await page.route(`${provider.url}/token`, (route) =>
      route.continue({ postData: `${route.request().postData()}&code_verifier=${'x'.repeat(43)}` }),
    );
    expect(await problemAt()).toMatch(/^127\.0\.0\.1:\d+ issued no token: invalid_\w+/);
  });

  it('does not keep a token that the service refuses', async () => {
    provider.behaviour.audience = 'another';
    expect(await problemAt()).toContain(
      'its token does not work here. Wrong token: the bearer token is not valid.',
    );
  });
});
