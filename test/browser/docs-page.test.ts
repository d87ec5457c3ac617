import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Browser, Locator, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXAMPLE } from '../support/application.js';
import { RESOURCES } from '../support/resources.js';
import { authorize, enterToken, launchBrowser, logOut, openDocs } from '../support/browser.js';
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

/** The part of the page that belongs to an operation. Swagger UI puts the tag of the operation into the id, too. */
const partOf = (page: Page, operationId: string) => page.locator(`.opblock[id$="-${operationId}"]`);

/** The part of the page that belongs to an operation, opened. */
async function operation(page: Page, operationId: string): Promise<Locator> {
  const part = partOf(page, operationId);
  const control = part.locator('.opblock-summary-control');
  if ((await control.getAttribute('aria-expanded')) === 'false') await control.click();
  await isReady(part);
  return part;
}

/** Waits for what Execute sends: the examples arrive after the button does. */
async function isReady(part: Locator): Promise<void> {
  await part.locator('.execute').waitFor();
  for (const input of await inputOf(part).all()) {
    await expect.poll(() => input.inputValue()).not.toBe('');
  }
}

/** The fields of an operation that it needs: the body and the id. */
function inputOf(part: Locator): Locator {
  return part.locator('textarea, [data-param-in="path"] input');
}

interface LiveAnswer {
  readonly status: string;
  readonly body: string;
  /** The body as the service sent it. */
  readonly sent: string;
  readonly curl: string;
}

/** Presses Execute, and reads what the page shows of the answer. */
async function execute(page: Page, part: Locator): Promise<LiveAnswer> {
  const [response] = await Promise.all([
    page.waitForResponse((candidate) => candidate.request().resourceType() === 'fetch'),
    part.locator('.execute').click(),
  ]);
  const live = part.locator('.live-response');
  const id = await response.headerValue('x-request-id');
  const headers = live.locator('.live-headers', { hasText: `x-request-id: ${id}` });
  await headers.waitFor({ state: 'attached' });
  return {
    status: await live.locator('.status').innerText(),
    body:
      response.status() === 204
        ? ''
        : await live.locator('.highlight-code code').first().innerText(),
    sent: await response.text(),
    curl: (await part.locator('.curl-command code').textContent()) ?? '',
  };
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly method: string;
  readonly path: string;
  /** The names of its parameters, and of the members of its body and of what it answers. */
  readonly names: readonly string[];
  /** What the document shows for each of its examples, by their names; nothing if that depends on what is stored. */
  readonly examples: readonly (readonly [name: string | undefined, answer: unknown])[];
  readonly status: number;
  /** The examples of what it creates. */
  readonly bodies: readonly unknown[];
}

interface Content {
  readonly content?: Record<
    string,
    {
      readonly schema: Schema;
      readonly examples?: Record<string, { readonly value: unknown }>;
    }
  >;
}

interface Schema {
  readonly $ref?: string;
  readonly items?: Schema;
  readonly properties?: Record<string, unknown>;
}

interface Document {
  readonly paths: Record<
    string,
    Record<
      string,
      Pick<Operation, 'operationId' | 'summary'> & {
        readonly parameters?: readonly { readonly name: string }[];
        readonly requestBody?: Content;
        readonly responses: Record<number, Content>;
      }
    >
  >;
  readonly components: { readonly schemas: Record<string, Schema> };
}

/** The operations of the document, in its order. */
async function operations(): Promise<Operation[]> {
  const answer = await fetch(`${service.url}/openapi.json`);
  const { paths, components } = (await answer.json()) as Document;
  const membersOf = ({ $ref, items, properties = {} }: Schema = {}): string[] => {
    if (items !== undefined) return membersOf(items);
    if ($ref === undefined) return Object.keys(properties);
    return membersOf(components.schemas[$ref.replace('#/components/schemas/', '')]);
  };
  const contentOf = ({ content = {} }: Content = {}) => Object.values(content)[0];
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, content]) => {
      const { operationId, summary, parameters = [], requestBody, responses } = content;
      const status = Number(Object.keys(responses).find((key) => key.startsWith('2')));
      const success = contentOf(responses[status]);
      const examples = Object.entries(success?.examples ?? {});
      const isOfOne = path.includes('{');
      return {
        operationId,
        summary,
        method,
        path,
        status,
        bodies:
          method === 'post'
            ? Object.values(requestBody?.content?.['application/json']?.examples ?? {}).map(
                ({ value }) => value,
              )
            : [],
        names: [
          ...parameters.map(({ name }) => name),
          ...membersOf(contentOf(requestBody)?.schema),
          ...membersOf(success?.schema),
        ],
        examples:
          examples.length === 0
            ? [[undefined, undefined]]
            : examples.map(([name, { value }]) => [
                name,
                // A list and an export have what the store has.
                isOfOne || method !== 'get' ? value : undefined,
              ]),
      };
    }),
  );
}

/** The operations in an order in which all examples succeed: one may refer to what another resource stores. */
async function operationsToRun(): Promise<Operation[]> {
  const all = await operations();
  return all.toSorted((one, other) => references(one.path) - references(other.path));
}

/** How many members of the resource with this path are ids of other resources. */
function references(path: string): number {
  const { members = {} } = RESOURCES.find(({ name }) => name === path.split('/')[1]) ?? {};
  return Object.values(members).filter(({ format }) => format === 'int64').length - 1;
}

describe('someone who has never seen the service', () => {
  it('meets a name, an icon and a color', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    expect(page.url()).toBe(`${service.url}/docs`);
    expect(await page.title()).toBe('Plant Store');
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toContain('Plant Store');
    const icon = await page.locator('link[rel=icon]').getAttribute('href');
    const image = await page.request.get(new URL(icon ?? '', page.url()).href);
    expect(image.headers()['content-type']).toContain('image/svg+xml');
    expect(await page.locator('header .logo').isVisible()).toBe(true);
    expect(await page.locator('meta[name=theme-color]').getAttribute('content')).toBe('#1b7a4b');
    expect(faults).toEqual([]);
  });

  it.each([
    [1280, 800],
    [375, 667],
  ])('has operations and token in the first screen of %i × %i pixels', async (width, height) => {
    const { page } = await openDocs(browser, service.url, { viewport: { width, height } });
    const all = await operations();
    const lookUp = all.find(({ method, path }) => method === 'get' && path.includes('{'))!;
    const first = [
      page.getByRole('link', { name: all[0]!.summary }),
      page.getByRole('link', { name: lookUp.summary }).first(),
      page.locator('.scheme-container .authorize'),
    ];
    for (const element of first) {
      const box = await element.boundingBox();
      expect(box && box.y + box.height).toBeLessThanOrEqual(height);
    }
    await first[1]?.click();
    const heading = partOf(page, lookUp.operationId);
    await expect.poll(async () => (await heading.boundingBox())?.y).toBeLessThan(100);
  });

  it('is led to README, licence and document', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    for (const [name, path] of [
      ['Docs', '/docs/README.md'],
      ['MIT licence', '/docs/LICENSE'],
      ['OpenAPI', '/openapi.json'],
      ['YAML', '/openapi.yaml'],
    ] as const) {
      const href = await page.getByRole('link', { name }).first().getAttribute('href');
      expect(new URL(href ?? '', page.url()).href).toBe(service.url + path);
    }
    await page.getByRole('link', { name: 'Docs' }).click();
    expect(await page.locator('.prose h1').innerText()).toBe('Plant Store');
    expect(await page.locator('.prose pre').count()).toBeGreaterThan(2);
    expect(faults).toEqual([]);
  });

  it('authorizes, executes each example as it is, and sees the plant', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    for (const { operationId, examples, status } of await operationsToRun()) {
      const part = await operation(page, operationId);
      for (const [name, answer] of examples) {
        if (name !== undefined && examples.length > 1) {
          await part.locator('.examples-select-element').first().selectOption(name);
        }
        const live = await execute(page, part);
        expect(`${operationId} ${name} ${live.status}`).toBe(`${operationId} ${name} ${status}`);
        expect(live.body).toBe(live.sent);
        if (answer !== undefined) {
          const body: unknown = typeof answer === 'string' ? live.body : JSON.parse(live.body);
          expect(body, `the answer of ${operationId}, ${name}`).toEqual(answer);
        }
        if (operationId === 'exportPlants') expect(live.body).toContain('"id":9007199254740993,');
      }
      await page.screenshot({ path: `${SCREENSHOTS}/${operationId}.png` });
    }
    expect(faults).toEqual([]);
  });
});

describe('the reference', () => {
  let page: Page;

  beforeAll(async () => {
    ({ page } = await openDocs(browser, service.url));
  });

  afterAll(() => page.context().close());

  /** What a reader sees of a section of an operation, without opening anything. */
  const table = (operationId: string, heading: string) =>
    page.locator(`#operations-plants-${operationId} .reference`).evaluate((reference, title) => {
      const start = [...reference.querySelectorAll('h4')].find((h4) =>
        h4.innerText.startsWith(title),
      );
      const found = start?.nextElementSibling as HTMLElement;
      return found.checkVisibility()
        ? [...found.querySelectorAll('tr')].map((row) =>
            [...row.cells].map((cell) => cell.innerText.replaceAll(/\s+/g, ' ').trim()),
          )
        : [];
    }, heading);

  it('has every operation with all its fields', async () => {
    for (const { operationId, summary, method, path, names } of await operations()) {
      const part = partOf(page, operationId);
      const heading = (await part.locator('.opblock-summary').innerText()).replaceAll('\u200B', '');
      for (const text of [method.toUpperCase(), path, summary]) {
        expect(heading, `the heading of ${operationId}`).toContain(text);
      }
      const shown = await part.locator('.reference-text tr > :first-child').allInnerTexts();
      expect(shown, `the fields of ${operationId}`).toEqual(expect.arrayContaining([...names]));
    }
  });

  it('has name, type, need and rule of every field in sight', async () => {
    expect(await table('createPlant', 'Body')).toEqual([
      ['Name', 'Type', 'Required', 'Rule'],
      [
        'id',
        'integer (int64)',
        'required',
        'Identification number of the plant. at least -9223372036854775808 at most 9223372036854775807',
      ],
      ['name', 'string', 'required', expect.stringContaining('The name of the plant.')],
      ['tag', 'string', 'optional', expect.stringContaining('Tag that specifies the type')],
    ]);
    expect((await table('createPlant', 'Response')).map(([name]) => name)).toEqual([
      'Name',
      'name',
      'tag',
    ]);
    expect((await table('getPlant', 'Parameters'))[1]).toEqual([
      'id',
      'integer (int64)',
      'required',
      expect.stringContaining('9223372036854775807'),
    ]);
  });

  it.each([
    ['createPlant', ['40001', '40002', '40003', '40009', '41300', '41500']],
    ['getPlant', ['40004', '40401']],
  ])(
    'has the failures of %s in one table, and folds the failures that all operations share',
    async (operationId, own) => {
      const failures = await table(operationId, 'Failures');
      expect(failures[0]).toEqual(['Status', 'Error', 'Meaning']);
      expect(failures.slice(1).map(([, number]) => number)).toEqual(own);
      const reference = page.locator(`#operations-plants-${operationId} .reference`);
      for (const [title, text] of [
        ['Failures of every operation', '50300'],
        ['Response headers', 'WWW-Authenticate'],
      ] as const) {
        expect(await reference.getByText(text).isVisible()).toBe(false);
        await reference.getByText(title).click();
        expect(await reference.getByText(text).isVisible()).toBe(true);
      }
    },
  );

  it('has nothing that is empty, and nothing to choose that is no choice', async () => {
    const text = await page.locator('body').innerText();
    expect(text).not.toMatch(/No parameters|No links|Servers|Cancel|undefined|\[object/);
    expect(await page.locator('.schemes-server-container').isVisible()).toBe(false);
    const choices = await page
      .locator('select:visible')
      .evaluateAll((selects) => selects.map((select) => (select as HTMLSelectElement).length));
    expect(Math.min(...choices)).toBeGreaterThan(1);
    const empty = await page.evaluate(() =>
      [...document.querySelectorAll('h2, h3, h4')]
        .filter((heading) => heading.checkVisibility())
        .filter((heading) => {
          const next = heading.nextElementSibling ?? heading.parentElement?.nextElementSibling;
          return !next?.checkVisibility() && heading.querySelector('button') === null;
        })
        .map((heading) => heading.textContent),
    );
    expect(empty.filter((title) => title !== 'Try it')).toEqual([]);
  });

  it('has no red button before anything began', async () => {
    const colors = await page.locator('button:visible').evaluateAll((buttons) =>
      buttons.flatMap((button) => {
        const { color, backgroundColor, borderTopColor } = getComputedStyle(button);
        return [color, backgroundColor, borderTopColor];
      }),
    );
    expect(colors.length).toBeGreaterThan(10);
    for (const color of colors) {
      const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map(Number);
      expect({ color, isRed: red > green + 60 && red > blue + 60 }).toEqual({
        color,
        isRed: false,
      });
    }
  });

  it.each(['/docs', '/docs/README.md', '/docs/docs/performance.md'])(
    'has at most 70 characters in a line of text: %s',
    async (path) => {
      const reading = await page.context().newPage();
      const response = await reading.goto(service.url + path);
      expect(response?.status()).toBe(200);
      const long = await reading.evaluate(longLines);
      expect(long).toEqual([]);
      await reading.close();
    },
  );
});

describe('the code samples', () => {
  it('are there before the first click, and run as they are once a token is in', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    const sample = (operationId: string, language: string) =>
      partOf(page, operationId).locator(`[data-sample="${language}"]`);
    expect(await sample('createPlant', 'curl').isVisible()).toBe(true);
    expect(await sample('createPlant', 'curl').innerText()).toContain(`curl ${service.url}/plants`);
    expect(await page.content()).toContain('Bearer <span data-fill="token">YOUR_TOKEN</span>');
    await authorize(page, TOKEN);
    for (const [language, program, ...options] of [
      ['curl', 'bash', '-c'],
      ['fetch', process.execPath, '--input-type=module', '--eval'],
      ['Python', 'python3', '-c'],
    ] as const) {
      await service.database.empty();
      const all = await operationsToRun();
      // The samples are the first examples; what they change may be in a later one.
      for (const { path, bodies } of all.filter((one) => one.bodies.length > 0)) {
        for (const body of bodies) {
          const headers = { 'Content-Type': 'application/json' };
          await service.request('POST', path, { headers, body: JSON.stringify(body) });
        }
      }
      for (const { operationId, method, status, examples } of all) {
        await partOf(page, operationId).getByRole('radio', { name: language }).check();
        expect(await sample(operationId, language).isVisible()).toBe(true);
        const code = await sample(operationId, language).innerText();
        expect(code).toContain(TOKEN);
        const { stdout } = await promisify(execFile)(program, [...options, code]);
        const what = `${operationId} in ${language}`;
        // curl prints the body alone.
        const [, printed, body = ''] = /^(?:(\d{3}) )?(.*)$/s.exec(stdout) ?? [];
        if (language !== 'curl') expect(printed, `${what}: ${stdout}`).toBe(String(status));
        // What a PATCH leaves depends on the changes before it.
        const answer = method === 'patch' ? undefined : examples[0]?.[1];
        if (answer === undefined) expect(body, `the answer of ${what}`).not.toContain('"error":');
        else if (typeof answer === 'string')
          expect(body.trim(), `the answer of ${what}`).toBe(answer.trim());
        else expect(JSON.parse(body), `the answer of ${what}`).toEqual(answer);
      }
    }
    expect(faults).toEqual([]);
  });

  it('can be copied, and name the server that the page came from', async () => {
    const { page } = await openDocs(browser, service.url);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('#operations-plants-getPlant').getByRole('radio', { name: 'fetch' }).check();
    await page
      .locator('#operations-plants-getPlant')
      .getByRole('button', { name: 'Copy', exact: true })
      .click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(
      `await fetch('${service.url}/plants/1001'`,
    );
  });
});

// What has nothing to do with the resources is tested once, without an example.
describe.skipIf(EXAMPLE !== undefined)('an example beyond 2^53', () => {
  it('is shown, sent and answered with all its digits', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    const id = '9007199254740993';
    for (const [operationId, sent] of [
      ['createPlant', (request: Request) => request.postData()],
      ['getPlant', (request: Request) => request.url()],
    ] as const) {
      const part = await operation(page, operationId);
      await part.locator('.examples-select-element').selectOption('long-id');
      await expect.poll(() => inputOf(part).inputValue()).toContain(id);
      const request = page.waitForRequest(/\/plants/);
      const { status, body } = await execute(page, part);
      expect(status).toBe('200');
      expect(sent(await request)).toContain(id);
      if (operationId === 'getPlant') expect(body).toContain(`"id":${id},`);
    }
    const stored = await service.database.query('SELECT id FROM plants WHERE id = $1', [id]);
    expect(stored).toEqual([{ id }]);
    expect(faults).toEqual([]);
  });
});

describe('the token', () => {
  it('is remembered until Logout, and nothing is answered without it', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    await page.reload();
    expect((await execute(page, await operation(page, 'createPlant'))).status).toBe('200');
    expect(await page.content()).toContain(TOKEN);
    expect(faults).toEqual([]);

    await logOut(page);
    expect(await page.content()).not.toContain(TOKEN);
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(TOKEN);
    const { status, body } = await execute(page, await operation(page, 'createPlant'));
    expect(status).toBe('401');
    expect(JSON.parse(body)).toMatchObject({ error: 40100 });
    await page.locator('.live-response').getByRole('button', { name: 'Enter a token' }).click();
    expect(await page.getByLabel('Token').isVisible()).toBe(true);
    // Chromium reports every answer that is no success.
    expect(faults).toEqual([expect.stringContaining('401')]);
  });

  it('is the same in every tab', async () => {
    const { page } = await openDocs(browser, service.url);
    const other = await page.context().newPage();
    await other.goto(`${service.url}/docs`);
    const isLocked = () => other.locator('.scheme-container .authorize.locked').count();
    // The other tab loads the page again, which can take longer than the default of a second.
    const reloaded = { timeout: 20_000 };
    await authorize(page, TOKEN);
    await expect.poll(isLocked, reloaded).toBe(1);
    expect((await execute(other, await operation(other, 'createPlant'))).status).toBe('200');
    await logOut(page);
    await expect.poll(isLocked, reloaded).toBe(0);
    await expect.poll(() => other.content(), reloaded).not.toContain(TOKEN);
  });

  it('may be pasted as it was copied', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, ` Bearer ${TOKEN}\n`);
    expect((await execute(page, await operation(page, 'createPlant'))).status).toBe('200');
    expect(faults).toEqual([]);
  });

  it.each([
    ['no token', ' \n', 'Paste a token first.'],
    ['a wrong token', 'wrong', 'Wrong token: the bearer token is not valid.'],
    ['what no header can hold', 'tökén—', 'The token could not be sent'],
  ])('is tried before it is kept: %s', async (_, token, refusal) => {
    const { page } = await openDocs(browser, service.url);
    await enterToken(page, token);
    const dialog = page.getByRole('dialog');
    await dialog.getByText(refusal).waitFor();
    expect(await page.locator('.scheme-container .authorize.locked').count()).toBe(0);
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('wrong');
    await page.screenshot({ path: `${SCREENSHOTS}/token.png` });
    await page.getByLabel('Token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByText('Authorized.').waitFor();
  });

  it.each([1280, 375])('fits its field on a screen of %i pixels', async (width) => {
    const { page } = await openDocs(browser, service.url, { viewport: { width, height: 667 } });
    await page.locator('.scheme-container .authorize').click();
    const field = page.getByLabel('Token');
    // A token of an issuer that signs with ES256.
    await field.fill('a'.repeat(width === 375 ? 150 : 300));
    expect(
      await field.evaluate(
        ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
          scrollWidth <= clientWidth && scrollHeight <= clientHeight,
      ),
    ).toBe(true);
  });
});

describe.skipIf(EXAMPLE !== undefined)('an id of 2^63 - 1', () => {
  it('goes there and comes back with all its digits', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    const post = await operation(page, 'createPlant');
    await post.locator('textarea').fill(`{"id":${LARGEST_ID},"name":"Last"}`);
    expect((await execute(page, post)).status).toBe('200');
    const get = await operation(page, 'getPlant');
    await inputOf(get).fill(LARGEST_ID);
    const { status, body } = await execute(page, get);
    expect(status).toBe('200');
    expect(body).toBe(`{"id":${LARGEST_ID},"name":"Last"}`);
    expect(faults).toEqual([]);
  });
});

describe.skipIf(EXAMPLE !== undefined)('an id beyond that', () => {
  it.each([
    ['9223372036854775808', '40004', '9223372036854775807'],
    ['99999999999999999999', "For 'id'", '9223372036854775807'],
    ['-99999999999999999999', "For 'id'", '-9223372036854775808'],
  ])('such as %s is refused with the exact limit', async (id, refusal, limit) => {
    const { page } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    const get = await operation(page, 'getPlant');
    await inputOf(get).fill(id);
    await get.locator('.execute').click();
    const told = get.locator('.validation-errors, .live-response');
    await told.getByText(refusal).first().waitFor();
    expect(await told.innerText()).toContain(limit);
    expect(await told.innerText()).not.toContain('9223372036854776000');
  });
});

describe.skipIf(EXAMPLE !== undefined)('the curl line', () => {
  it('works when pasted, whatever the plant is called', async () => {
    const { page } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    const id = '9223372036854775806';
    const plant = { name: `It's "50%" \\ $HOME \`id\` !! 🌵\n`, tag: "'; exit 1; '" };
    const text = `{"id": ${id}, ${JSON.stringify(plant).slice(1)}`;
    const post = await operation(page, 'createPlant');
    await post.locator('textarea').fill(text);
    const { status, body, curl } = await execute(page, post);
    expect(status).toBe('200');
    expect(curl).toContain(id);
    const paste = async (line: string) =>
      (await promisify(execFile)('bash', ['-c', `${line} --silent --show-error`])).stdout;
    expect(await paste(curl)).toBe(body);
    expect(JSON.parse(body)).toEqual(plant);

    const get = await operation(page, 'getPlant');
    await inputOf(get).fill(id);
    const stored = await execute(page, get);
    expect(stored.curl).toContain(`/plants/${id}'`);
    expect(stored.body).toContain(`"id":${id},`);
    expect(await paste(stored.curl)).toBe(stored.body);

    const lines = await operation(page, 'importPlants');
    await lines.locator('textarea').fill(`${text}\n${text}\n`);
    const imported = await execute(page, lines);
    expect(imported.body).toBe('{"created":0,"unchanged":2,"refused":0}\n');
    expect(await paste(imported.curl)).toBe(imported.body);
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
      const { status, curl } = await execute(page, await operation(page, 'createPlant'));
      expect(status).toBe('200');
      expect(curl).toContain(`http://${host}:${served.port}${path}/plants`);
      const sample = await page
        .locator('#operations-plants-createPlant [data-sample="curl"]')
        .innerText();
      expect(sample).toContain(`http://${host}:${served.port}${path}/plants`);
      // Only with PUBLIC_BASE_URL there is a server to choose.
      expect(await page.locator('.servers select').count()).toBe(path === '' ? 0 : 1);
      await page.setViewportSize({ width: 375, height: 667 });
      expect(await page.evaluate(outsideTheScreen)).toEqual([]);
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
    await authorize(page, TOKEN);
    for (const operationId of ['createPlant', 'getPlant']) {
      const part = await operation(page, operationId);
      expect((await execute(page, part)).status).toBe('200');
      await inputOf(part).fill('7');
    }
    await openAll(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    expect(await page.evaluate(outsideTheScreen)).toEqual([]);
    await page.screenshot({ path: `${SCREENSHOTS}/${width}.png`, fullPage: true });
    expect(faults).toEqual([]);
  });

  it('can be used with the keyboard alone', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    const create = (await operations()).find(({ method }) => method === 'post')!;
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
    await page.getByLabel('Token').waitFor();
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByText('Authorized.').waitFor();
    await page.keyboard.press('Escape');
    await tabTo(/opblock-summary-control POST/);
    const part = partOf(page, create.operationId);
    const reference = part.locator('.reference');
    await page.keyboard.press('Enter');
    await reference.waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await reference.waitFor();
    // The choice of the language has neither class nor text.
    await tabTo(/^ $/);
    await page.keyboard.press('ArrowRight');
    await reference.locator('[data-sample=fetch]').waitFor();
    await isReady(part);
    await tabTo(/execute/);
    const [response] = await Promise.all([
      page.waitForResponse(service.url + create.path),
      page.keyboard.press('Enter'),
    ]);
    expect(response.status()).toBe(200);
    expect(faults).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('follows the %s scheme, legibly', async (colorScheme) => {
    const { page, faults } = await openDocs(browser, service.url, { colorScheme });
    await authorize(page, TOKEN);
    await execute(page, await operation(page, 'createPlant'));
    await openAll(page);
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
    expect(await page.locator('noscript').innerText()).toContain('needs JavaScript');
    expect(await page.locator('.fields').first().innerText()).toContain('9223372036854775807');
    expect(await page.locator('.samples pre').first().isVisible()).toBe(true);
    expect(await page.evaluate(faintTexts)).toEqual([]);
    await context.close();
  });
});

// They show the service without an example.
describe.skipIf(EXAMPLE !== undefined)('the pictures in the README', () => {
  it.each([
    ['light', 'docs-page'],
    ['dark', 'docs-page-dark'],
  ] as const)('show the %s page at the address of a local start', async (colorScheme, name) => {
    const shown = 'http://localhost:3000';
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      colorScheme,
    });
    await context.route(`${shown}/**`, async (route) => {
      const url = route.request().url().replace(shown, service.url);
      await route.fulfill({ response: await route.fetch({ url }) });
    });
    const page = await context.newPage();
    await page.goto(`${shown}/docs`);
    await page.locator('#operations-plants-getPlant .execute').waitFor();
    await page.locator('#static').waitFor({ state: 'detached' });
    // Swagger UI shows the operations one after the other.
    await page.waitForFunction(() =>
      [...document.querySelectorAll('.opblock')].every((block) => block.querySelector('.execute')),
    );
    // When this fails, the pictures are old as well. CONTRIBUTING.md says how to renew them.
    await expect(await page.locator('body').innerText()).toMatchFileSnapshot('docs-page.txt');
    await page.screenshot({ path: `${SCREENSHOTS}/${name}.png` });
    await context.close();
  });
});

async function openAll(page: Page): Promise<void> {
  for (const summary of await page.locator('details > summary').all()) await summary.click();
}

/** Lines of running text with more than 70 characters. Runs in the browser. */
function longLines(): string[] {
  const long: string[] = [];
  const blocks = [...document.querySelectorAll('p, li, td')].filter(
    (block) => block.checkVisibility() && block.querySelector('p, li, pre, select') === null,
  );
  for (const block of blocks) {
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    let line = '';
    let bottom = -Infinity;
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      for (const { 0: word, index } of (node.textContent ?? '').matchAll(/\s*[^\s-]+-*\s*|-+/g)) {
        const range = document.createRange();
        range.setStart(node, index + word.search(/\S/));
        range.setEnd(node, index + word.trimEnd().length);
        const box = range.getBoundingClientRect();
        if (box.top >= bottom) {
          line = '';
          bottom = box.bottom;
        }
        line = (line + word).replaceAll(/\s+/g, ' ');
        if (line.trim().length > 70) long.push(line);
      }
    }
  }
  return long;
}

/** What is cut off or sticks out of the screen. Runs in the browser. */
function outsideTheScreen(): string[] {
  return [...document.querySelectorAll('body *')]
    .filter((element) => element.checkVisibility())
    .filter((element) => {
      const { left, right, width } = element.getBoundingClientRect();
      return width > 0 && (left < 0 || right > document.documentElement.clientWidth + 0.5);
    })
    .map((element) => `${element.tagName}.${element.className}`);
}

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
