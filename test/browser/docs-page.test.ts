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

async function exampleNames(part: Locator): Promise<string[]> {
  return part
    .locator('.examples-select-element')
    .first()
    .locator('option')
    .evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value));
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
    const bodies: string[] = [];
    for (const method of ['post', 'get'] as const) {
      const part = await operation(page, method);
      const names = await exampleNames(part);
      expect(names.length).toBeGreaterThan(2);
      for (const name of names) {
        await part.locator('.examples-select-element').first().selectOption(name);
        const { status, body } = await execute(page, part);
        expect(`${method} ${name} ${status}`).toBe(`${method} ${name} 200`);
        bodies.push(body);
      }
      if (method === 'post') await page.screenshot({ path: `${SCREENSHOTS}/executed.png` });
    }
    expect(bodies).toContain('{"name":"Monstera","tag":"indoor"}');
    expect(bodies).toContain('{"id":1001,"name":"Monstera","tag":"indoor"}');
    expect(bodies).toContain('{"id":1003,"name":"Ficus"}');
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
    expect(faults).toEqual([]);

    await logOut(page);
    await page.reload();
    const { status, body } = await execute(page, await operation(page, 'post'));
    expect(status).toContain('401');
    expect(JSON.parse(body)).toMatchObject({ error: 40100 });
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(TOKEN);
    // Chromium reports every answer that is no success.
    expect(faults).toEqual([expect.stringContaining('401')]);
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

describe('the curl line', () => {
  it('works when pasted, whatever the plant is called', async () => {
    const { page } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    const plant = { name: `It's "50%" \\ $HOME \`id\` !! 🌵\n`, tag: "'; exit 1; '" };
    const post = await operation(page, 'post');
    await post
      .locator('textarea')
      .fill(
        `{"id":${LARGEST_ID.replace('7', '6')}, "name":${JSON.stringify(plant.name)},"tag":${JSON.stringify(plant.tag)}}`,
      );
    const { status, body, curl } = await execute(page, post);
    expect(status).toBe('200');
    const pasted = await promisify(execFile)('bash', ['-c', `${curl} --silent --show-error`]);
    expect(pasted.stdout).toBe(body);
    expect(JSON.parse(pasted.stdout)).toEqual(plant);
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
      expect((await execute(page, await operation(page, method))).status).toBe('200');
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
    for (const selector of [
      '.info__description p',
      '.info summary',
      '.info a',
      '.authorize span',
      '.opblock-description p',
      '.examples-select__section-label',
      '.live-responses-table h5',
      '.responses-table .response-col_description p',
      'table.headers td',
    ]) {
      const contrast = await contrastOf(page.locator(selector).first());
      expect(contrast, `contrast of ${selector}`).toBeGreaterThanOrEqual(4.5);
    }
    await page.screenshot({ path: `${SCREENSHOTS}/${colorScheme}.png` });
    expect(faults).toEqual([]);
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
    expect(await page.locator('.info').innerText()).toContain(`${shown}/openapi.json`);
    await page.screenshot({ path: `${SCREENSHOTS}/docs-page.png` });
  });
});

/** Contrast of a text to what is behind it (WCAG 2.2, "contrast ratio"). */
async function contrastOf(text: Locator): Promise<number> {
  const colors = await text.evaluate((element) => {
    const channels = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number);
    let behind: Element | null = element;
    const layers: number[][] = [];
    while (behind !== null) {
      const [red = 0, green = 0, blue = 0, alpha = 1] = channels(
        getComputedStyle(behind).backgroundColor,
      );
      layers.push([red, green, blue, alpha]);
      if (alpha === 1) break;
      behind = behind.parentElement;
    }
    const background = layers.reduceRight(
      (under, [red = 0, green = 0, blue = 0, alpha = 1]) =>
        [red, green, blue].map((value, i) => value * alpha + (under[i] ?? 255) * (1 - alpha)),
      [255, 255, 255],
    );
    return [channels(getComputedStyle(element).color).slice(0, 3), background];
  });
  const [one = 0, other = 0] = colors.map((rgb) => {
    const [red = 0, green = 0, blue = 0] = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  });
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}
