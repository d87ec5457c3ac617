import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorize, launchBrowser, logOut, openDocs } from '../support/browser.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/** Build output. */
const SCREENSHOTS = 'screenshots';

const LARGEST_ID = '9223372036854775807';

let browser: Browser;
let service: TestService;

beforeAll(async () => {
  [browser, service] = await Promise.all([
    launchBrowser(),
    startTestService(),
    mkdir(SCREENSHOTS, { recursive: true }),
  ]);
});

afterAll(() => Promise.all([browser.close(), service.stop()]));

/** The part of the page that belongs to an operation, opened. */
async function operation(page: Page, method: 'get' | 'post'): Promise<Locator> {
  const part = page.locator(`.opblock-${method}`);
  const control = part.locator('.opblock-summary-control');
  if ((await control.getAttribute('aria-expanded')) === 'false') await control.click();
  await isReady(part);
  return part;
}

/** Waits for what Execute sends: the example arrives after the button does. */
async function isReady(part: Locator): Promise<void> {
  await part.locator('.execute').waitFor();
  const field = part.locator('textarea, .parameters input').first();
  await expect.poll(() => field.inputValue()).not.toBe('');
}

interface LiveAnswer {
  readonly status: string;
  readonly body: string;
  readonly curl: string;
}

/** Presses Execute, and reads what the page shows of the answer. */
async function execute(page: Page, part: Locator): Promise<LiveAnswer> {
  const [response] = await Promise.all([
    page.waitForResponse((candidate) => new URL(candidate.url()).pathname.includes('/plants')),
    part.locator('.execute').click(),
  ]);
  const live = part.locator('.live-responses-table');
  const id = await response.headerValue('x-request-id');
  await live.getByText(`x-request-id: ${id}`).waitFor();
  return {
    status: (await live.locator('tbody .response-col_status').innerText()).trim(),
    body: await live.locator('.highlight-code code').first().innerText(),
    curl: await part.locator('.curl-command code').innerText(),
  };
}

/** The answers that the document shows for the examples of an operation, by their names. */
async function exampleAnswers(path: string, method: string): Promise<[string, unknown][]> {
  const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { responses: Record<number, AnswerContent> }>>;
  };
  const examples = paths[path]?.[method]?.responses[200]?.content['application/json'].examples;
  return Object.entries(examples ?? {}).map(([name, { value }]) => [name, value]);
}

interface AnswerContent {
  readonly content: {
    readonly 'application/json': { readonly examples: Record<string, { readonly value: unknown }> };
  };
}

describe('someone who has never seen the service', () => {
  it('is told what it is, with Authorize in sight, and led to README and licence', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    expect(page.url()).toBe(`${service.url}/docs`);
    expect(await page.title()).toBe('Plant Store');
    const info = await page.locator('.info').innerText();
    expect(info).toContain('A store of plants');
    expect(info).toContain('npm start prints it');
    const box = await page.locator('.scheme-container .authorize').boundingBox();
    expect(box && box.y + box.height).toBeLessThan(900);
    for (const [name, path] of [
      [/README/, '/docs/README.md'],
      ['MIT', '/docs/LICENSE'],
    ] as const) {
      const href = await page.locator('.info').getByRole('link', { name }).getAttribute('href');
      expect(new URL(href ?? '', page.url()).href).toBe(service.url + path);
    }
    await page.getByText('All error numbers').click();
    expect(await page.locator('.info table').innerText()).toMatch(/40009\s+400\s+the id belongs/);
    expect(faults).toEqual([]);
  });

  it('authorises, executes each example as it is, and sees the plant', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    for (const [method, path] of [
      ['post', '/plants'],
      ['get', '/plants/{id}'],
    ] as const) {
      const part = await operation(page, method);
      const answers = await exampleAnswers(path, method);
      expect(answers.length).toBeGreaterThan(2);
      for (const [name, answer] of answers) {
        await part.locator('.examples-select-element').first().selectOption(name);
        const { status, body } = await execute(page, part);
        expect(`${name} ${status}`).toBe(`${name} 200`);
        expect(JSON.parse(body)).toEqual(answer);
      }
      await page.screenshot({ path: `${SCREENSHOTS}/${method}.png` });
    }
    expect(faults).toEqual([]);
  });

  it('reads the limits of an id digit for digit', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    const schema = page.locator('.models article').filter({ hasText: 'NewPlant' });
    await schema.getByRole('button', { name: 'Expand all' }).first().click();
    expect(await schema.innerText()).toContain('[-9223372036854775808, 9223372036854775807]');
    expect(faults).toEqual([]);
  });
});

describe('the token', () => {
  it('is remembered until Logout, and nothing is answered without it', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    await page.reload();
    expect((await execute(page, await operation(page, 'post'))).status).toBe('200');
    expect(await page.content()).toContain(TOKEN);
    expect(faults).toEqual([]);

    await logOut(page);
    expect(await page.content()).not.toContain(TOKEN);
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(TOKEN);
    const { status, body } = await execute(page, await operation(page, 'post'));
    expect(status).toContain('401');
    expect(JSON.parse(body)).toMatchObject({ error: 40100 });
    // Chromium reports every answer that is no success.
    expect(faults).toEqual([expect.stringContaining('401')]);
  });

  it('is the same in every tab', async () => {
    const { page } = await openDocs(browser, service.url);
    const other = await page.context().newPage();
    await other.goto(`${service.url}/docs`);
    const isLocked = () => other.locator('.scheme-container .authorize.locked').count();
    await authorize(page, TOKEN);
    await expect.poll(isLocked).toBe(1);
    expect((await execute(other, await operation(other, 'post'))).status).toBe('200');
    await logOut(page);
    await expect.poll(isLocked).toBe(0);
    await expect.poll(() => other.content()).not.toContain(TOKEN);
  });

  it('may be pasted as it was copied', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, ` Bearer ${TOKEN}\n`);
    expect((await execute(page, await operation(page, 'post'))).status).toBe('200');
    expect(faults).toEqual([]);
  });

  it('is waited for when there is none', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await page.locator('.scheme-container .authorize').click();
    await page.locator('.auth-btn-wrapper .authorize').click();
    await page.locator('.auth-container input').fill('  ');
    await page.locator('.auth-btn-wrapper .authorize').click();
    expect(await page.locator('.auth-container input').count()).toBe(1);
    expect(await page.locator('.scheme-container .authorize.locked').count()).toBe(0);
    expect(faults).toEqual([]);
  });
});

describe('an id of 2^63 - 1', () => {
  it('goes there and comes back with all its digits', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    const post = await operation(page, 'post');
    await post.locator('textarea').fill(`{"id":${LARGEST_ID},"name":"Last"}`);
    expect((await execute(page, post)).status).toBe('200');
    const get = await operation(page, 'get');
    await get.locator('.parameters input').fill(LARGEST_ID);
    const { status, body } = await execute(page, get);
    expect(status).toBe('200');
    expect(body).toBe(`{"id":${LARGEST_ID},"name":"Last"}`);
    expect(faults).toEqual([]);
  });
});

describe('an id beyond that', () => {
  it.each([
    ['9223372036854775808', '40004', '9223372036854775807'],
    ['99999999999999999999', "For 'id'", '9223372036854775807'],
    ['-99999999999999999999', "For 'id'", '-9223372036854775808'],
  ])('such as %s is refused with the exact limit', async (id, refusal, limit) => {
    const { page } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    const get = await operation(page, 'get');
    await get.locator('.parameters input').fill(id);
    await get.locator('.execute').click();
    const told = get.locator('.validation-errors, .live-responses-table');
    await told.getByText(refusal).first().waitFor();
    expect(await told.innerText()).toContain(limit);
    expect(await told.innerText()).not.toContain('9223372036854776000');
  });
});

describe('the curl line', () => {
  it('works when pasted, whatever the plant is called', async () => {
    const { page } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    const id = '9223372036854775806';
    const plant = { name: `It's "50%" \\ $HOME \`id\` !! 🌵\n`, tag: "'; exit 1; '" };
    const text = `{"id": ${id}, ${JSON.stringify(plant).slice(1)}`;
    const post = await operation(page, 'post');
    await post.locator('textarea').fill(text);
    const { status, body, curl } = await execute(page, post);
    expect(status).toBe('200');
    expect(curl).toContain(id);
    const paste = async (line: string) =>
      (await promisify(execFile)('bash', ['-c', `${line} --silent --show-error`])).stdout;
    expect(await paste(curl)).toBe(body);
    expect(JSON.parse(body)).toEqual(plant);

    const get = await operation(page, 'get');
    await get.locator('.parameters input').fill(id);
    const stored = await execute(page, get);
    expect(stored.curl).toContain(`/plants/${id}'`);
    expect(stored.body).toContain(`"id":${id},`);
    expect(await paste(stored.curl)).toBe(stored.body);
  });
});

describe('the page', () => {
  it.each([
    ['127.0.0.1', ''],
    ['localhost', ''],
    ['127.0.0.1', '/store/api'],
    ['localhost', '/store/api'],
  ])('works on %s, at "%s"', async (host, path) => {
    const served = await startTestService({
      environment: path === '' ? {} : { PUBLIC_BASE_URL: `https://shop.example.com${path}` },
    });
    try {
      const { page, faults } = await openDocs(browser, served.url.replace('127.0.0.1', host));
      await authorize(page, TOKEN);
      const { status, curl } = await execute(page, await operation(page, 'post'));
      expect(status).toBe('200');
      expect(curl).toContain(`http://${host}:${served.port}${path}/plants`);
      const licence = await page.getByRole('link', { name: 'MIT' }).getAttribute('href');
      expect((await page.request.get(new URL(licence ?? '', page.url()).href)).ok()).toBe(true);
      expect(faults).toEqual([]);
      await page.context().close();
    } finally {
      await served.stop();
    }
  });

  it.each([320, 375])('fits a screen of %i pixels', async (width) => {
    const { page, faults } = await openDocs(browser, service.url, {
      viewport: { width, height: 720 },
      hasTouch: true,
      isMobile: true,
    });
    await page.getByText('All error numbers').click();
    await authorize(page, TOKEN);
    for (const method of ['post', 'get'] as const) {
      const part = await operation(page, method);
      expect((await execute(page, part)).status).toBe('200');
      // Which brings more buttons.
      await part.locator('textarea, .parameters input').first().fill('7');
    }
    const expand = page.getByRole('button', { name: 'Expand all' });
    while ((await expand.count()) > 0) await expand.first().click();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    await page.screenshot({ path: `${SCREENSHOTS}/${width}.png`, fullPage: true });
    expect(faults).toEqual([]);
  });

  it('can be used with the keyboard alone', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    const focused = () =>
      page.evaluate(() => {
        const element = document.activeElement;
        return `${element?.className} ${element?.textContent}`;
      });
    const tabTo = async (what: RegExp) => {
      for (let presses = 0; presses < 40; presses += 1) {
        await page.keyboard.press('Tab');
        if (!what.test(await focused())) continue;
        // Whoever looks must see where the focus is.
        expect(
          await page.evaluate(
            () => document.activeElement && getComputedStyle(document.activeElement).outlineStyle,
          ),
        ).not.toBe('none');
        return;
      }
      throw new Error(`no way to ${what.source} by keyboard`);
    };
    await tabTo(/authorize/);
    await page.keyboard.press('Enter');
    await page.locator('.auth-container input').waitFor();
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByText('Authorized').waitFor();
    await page.keyboard.press('Escape');
    await tabTo(/opblock-summary-control POST/);
    await page.keyboard.press('Enter');
    await isReady(page.locator('.opblock-post'));
    await tabTo(/execute/);
    const [response] = await Promise.all([
      page.waitForResponse(`${service.url}/plants`),
      page.keyboard.press('Enter'),
    ]);
    expect(response.status()).toBe(200);
    expect(faults).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('follows the %s scheme, legibly', async (colorScheme) => {
    const { page, faults } = await openDocs(browser, service.url, { colorScheme });
    await authorize(page, TOKEN);
    await execute(page, await operation(page, 'post'));
    await page.getByText('All error numbers').click();
    await page.getByRole('button', { name: 'Expand all' }).first().click();
    expect(await page.evaluate(faintTexts)).toEqual([]);
    await page.screenshot({ path: `${SCREENSHOTS}/${colorScheme}.png` });
    expect(faults).toEqual([]);
  });
});

describe('without JavaScript', () => {
  it.each(['light', 'dark'] as const)('the %s page says so, legibly', async (colorScheme) => {
    const context = await browser.newContext({ javaScriptEnabled: false, colorScheme });
    const page = await context.newPage();
    await page.goto(`${service.url}/docs`);
    expect(await page.locator('noscript').innerText()).toContain('This page needs JavaScript.');
    const readme = await page.getByRole('link', { name: 'README' }).getAttribute('href');
    expect((await page.request.get(new URL(readme ?? '', page.url()).href)).ok()).toBe(true);
    expect(await page.evaluate(faintTexts)).toEqual([]);
    await context.close();
  });
});

describe('the picture in the README', () => {
  it('shows the page at the address of a local start', async () => {
    const shown = 'http://localhost:3000';
    const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
    await context.route(`${shown}/**`, async (route) => {
      const url = route.request().url().replace(shown, service.url);
      await route.fulfill({ response: await route.fetch({ url }) });
    });
    const page = await context.newPage();
    await page.goto(`${shown}/docs`);
    await page.getByText('StoredPlant').waitFor();
    // When this fails, the picture in the README is old as well. CONTRIBUTING.md says how to renew both.
    await expect(await page.locator('#swagger-ui').innerText()).toMatchFileSnapshot(
      'docs-page.txt',
    );
    await page.screenshot({ path: `${SCREENSHOTS}/docs-page.png` });
  });
});

/**
 * Texts of the page that cannot be told well from what is behind them (WCAG 2.2, 1.4.3). Runs in the
 * browser.
 */
function faintTexts(): string[] {
  type Color = readonly [red: number, green: number, blue: number, alpha: number];

  const read = (color: string): Color => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
    return [red, green, blue, alpha];
  };
  const over = (above: Color, below: Color): Color => {
    const mix = (i: 0 | 1 | 2) => above[i] * above[3] + below[i] * (1 - above[3]);
    return [mix(0), mix(1), mix(2), 1];
  };
  const behind = (element: Element | null): Color => {
    if (element === null) return [255, 255, 255, 1];
    const color = read(getComputedStyle(element).backgroundColor);
    return color[3] === 1 ? color : over(color, behind(element.parentElement));
  };
  const luminance = (color: Color): number => {
    const linear = (i: 0 | 1 | 2) => {
      const share = color[i] / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * linear(0) + 0.7152 * linear(1) + 0.0722 * linear(2);
  };
  const contrast = (one: number, other: number) =>
    (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);

  const faint = new Set<string>();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent?.trim();
    if (!element || !text || !element.checkVisibility({ visibilityProperty: true })) continue;
    const style = getComputedStyle(element);
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const background = behind(element);
    const color = over(read(style.color), background);
    const found = contrast(luminance(color), luminance(background));
    if (found < (isLarge ? 3 : 4.5)) {
      faint.add(`${found.toFixed(2)} ${element.tagName}.${element.className} ${text.slice(0, 30)}`);
    }
  }
  return [...faint];
}
