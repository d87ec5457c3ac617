import { execFile } from 'node:child_process';
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { APIResponse, Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { parse, stringify } from 'lossless-json';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
  vi,
} from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { Receiver } from '../../packages/webhooks/test/support/receiver.js';
import { EXAMPLE } from '../support/application.js';
import { RESOURCES } from '../support/resources.js';
import { authorize, enterToken, forgetToken, launchBrowser, openDocs } from '../support/browser.js';
import { UNUSABLE_STORAGE } from './unusable-storage.js';
import type { WatchedPage } from '../support/browser.js';
import { serviceForTest, startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

const LARGEST_ID = '9223372036854775807';

let browser: Browser;
let service: TestService;

/** The docs page, for tests that change nothing on it. */
let reading: Page;

/** The profiles that several tests use. */
const lasting = new Set<BrowserContext>();

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), startTestService()]);
  ({ page: reading } = await openLasting());
});

// Pages that stay open take the time of those after them.
afterEach(async () => {
  const left = browser.contexts().filter((context) => !lasting.has(context));
  await Promise.all(left.map((context) => context.close()));
});

afterAll(() => Promise.all([browser.close(), service.stop()]));

async function openLasting(): Promise<WatchedPage> {
  const opened = await openDocs(browser, service.url);
  lasting.add(opened.page.context());
  return opened;
}

/** The part of the page that belongs to an operation. */
const partOf = (page: Page, operationId: string) =>
  page.locator('.operation', { has: page.locator(`h3#${operationId}`) });

/** The form of an operation, opened. */
async function operation(page: Page, operationId: string): Promise<Locator> {
  const part = partOf(page, operationId);
  const form = part.locator('form');
  if (!(await form.isVisible())) await part.getByText('Try it').click();
  return form;
}

/** The fields of an operation that it needs: the body and the id. */
function inputOf(form: Locator): Locator {
  return form.locator('textarea, [data-in="path"]');
}

/** Presses Send, and reads what the page shows of the answer. */
async function send(page: Page, form: Locator) {
  // Chromium does not keep the bodies of all answers, so this one is read on its way to the page.
  const answers: APIResponse[] = [];
  await page.route(
    // The page may still be loading files of its own.
    ({ pathname }) => !pathname.includes('/docs/'),
    async (route) => {
      const response = await route.fetch();
      answers.push(response);
      await route.fulfill({ response });
    },
    { times: 1 },
  );
  await form.getByRole('button', { name: 'Send' }).click();
  const response = await vi.waitUntil(() => answers[0], PATIENCE);
  const live = form.locator('.live-response');
  const id = response.headers()['x-request-id'];
  const headers = live.locator('.live-headers', { hasText: `x-request-id: ${id}` });
  await headers.waitFor({ state: 'attached' });
  await form.locator('[type="submit"]:enabled').waitFor();
  return {
    status: (await live.locator('.status').innerText()).slice(0, 3),
    body: (await live.locator('.response-body code').textContent()) ?? '',
    /** The body as the service sent it. */
    sent: await response.text(),
    // A copy has the token in place of the dots.
    curl: ((await live.locator('.curl-command code').textContent()) ?? '').replace(
      '••••••••',
      TOKEN,
    ),
  };
}

/** Downloads the answer that a form shows, and expects the name of the file. */
async function downloaded(page: Page, form: Locator, name: string): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    form.getByRole('link', { name: 'Download' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(name);
  return readFile(await download.path(), 'utf8');
}

const LANGUAGES = ['curl', 'TypeScript', 'Python', 'Go'] as const;

type Language = (typeof LANGUAGES)[number];

/** Chooses the language of the code samples. */
async function choose(page: Page, language: string): Promise<void> {
  await page.getByRole('radio', { name: language }).check();
}

async function enterTokenInSwaggerUi(page: Page): Promise<void> {
  await page.locator('.authorize.unlocked').click();
  await page.getByLabel('auth-bearer-value').fill(TOKEN);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.locator('.authorize.locked').waitFor();
}

async function showTokenInSamples(page: Page): Promise<void> {
  await page.locator('.token-button').click();
  await page.getByLabel('Show it in the code samples').check();
  await page.getByRole('button', { name: 'Close' }).click();
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

/** A failure, as the examples of the document have it. */
interface Failure {
  readonly error: number;
}

interface Schema {
  readonly $ref?: string;
  readonly items?: Schema;
  readonly properties?: Record<string, unknown>;
}

interface Document {
  readonly info: { readonly version: string };
  readonly paths: Record<
    string,
    Record<
      string,
      {
        readonly operationId: string;
        readonly summary: string;
        readonly description: string;
        readonly tags: readonly string[];
        readonly parameters?: readonly { readonly name: string }[];
        readonly requestBody?: Content;
        readonly responses: Record<number, Content>;
      }
    >
  >;
  readonly components: { readonly schemas: Record<string, Schema> };
  readonly tags: readonly { readonly name: string }[];
}

async function openApi(): Promise<Document> {
  return (await fetch(`${service.url}/openapi.json`)).json() as Promise<Document>;
}

/** The operations of the document, in the order of its tags, as the page has them. */
async function operations() {
  const { paths, components, tags: groups } = await openApi();
  const names = groups.map(({ name }) => name);
  const membersOf = ({ $ref, items, properties = {} }: Schema = {}): string[] => {
    if (items !== undefined) return membersOf(items);
    if ($ref === undefined) return Object.keys(properties);
    return membersOf(components.schemas[$ref.replace('#/components/schemas/', '')]);
  };
  const contentOf = ({ content = {} }: Content = {}) => Object.values(content)[0];
  return Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => Object.assign(one, { path, method })),
    )
    .toSorted((one, other) => names.indexOf(one.tags[0]!) - names.indexOf(other.tags[0]!))
    .map(({ path, method, parameters = [], requestBody, responses, ...said }) => {
      const { operationId, summary, description } = said;
      const status = Number(Object.keys(responses).find((key) => key.startsWith('2')));
      const success = contentOf(responses[status]);
      const bodies = requestBody?.content?.['application/json']?.examples ?? {};
      const examples = Object.entries(success?.examples ?? {});
      // A list and an export answer what the store has.
      const isKnown = path.includes('{') || method !== 'get';
      return {
        operationId,
        summary,
        description,
        path,
        method,
        status,
        parameters: parameters.map(({ name }) => name),
        /** The numbers of its failures. */
        failures: Object.entries(responses)
          .filter(([key]) => /^[45]/.test(key))
          .flatMap(([, response]) => Object.values(contentOf(response)?.examples ?? {}))
          .map(({ value }) => String((value as Failure).error)),
        /** The names of the members of its body and of what it answers. */
        members: [...membersOf(contentOf(requestBody)?.schema), ...membersOf(success?.schema)],
        /** The examples of what it creates. */
        bodies: method === 'post' ? Object.values(bodies).map(({ value }) => value) : [],
        /** What the document shows for each of its examples; nothing if that depends on what is stored. */
        examples:
          examples.length === 0
            ? [{ name: undefined, answer: undefined }]
            : examples.map(([name, { value }]) => ({ name, answer: isKnown ? value : undefined })),
      };
    });
}

/** The operations in an order in which all examples succeed: one may refer to what another resource stores. */
async function operationsToRun() {
  const all = await operations();
  // Webhooks send requests to the addresses of their examples, and have ids that no example can know: they have a test of their own.
  const local = all.filter(({ path }) => !path.startsWith('/webhooks'));
  return local.toSorted((one, other) => references(one.path) - references(other.path));
}

/** How many members of the resource with this path are ids of other resources. */
function references(path: string): number {
  const { members = {} } = RESOURCES.find(({ name }) => name === path.split('/')[1]) ?? {};
  return Object.values(members).filter(({ format }) => format === 'int64').length - 1;
}

describe('someone who has never seen the service', () => {
  it('meets a name, a logo and a color, and the versions of interface and service', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    expect(page.url()).toBe(`${service.url}/docs`);
    expect(await page.title()).toBe('Plant Store');
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toContain('Plant Store');
    const logo = page.locator('header .logo');
    expect(await logo.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
    expect(await page.locator('meta[name=theme-color]').getAttribute('content')).toBe('#1b7a4b');
    const { info } = await openApi();
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as Document['info'];
    expect(await page.locator('.versions').innerText()).toBe(
      `Interface ${info.version} · Service ${version}`,
    );
    expect(faults).toEqual([]);
  });

  it.each([
    [1280, 800],
    [375, 667],
  ])('has operations and token in the first screen of %i × %i pixels', async (width, height) => {
    const { page } = await openDocs(browser, service.url, { viewport: { width, height } });
    const all = await operations();
    const lookUp = all.find(({ method, path }) => method === 'get' && path.includes('{'))!;
    if (width < 800) await page.getByText('Contents').click();
    const contents = page.getByRole('navigation', { name: 'Contents' });
    const first = [
      contents.getByRole('link', { name: all[0]!.summary }),
      contents.getByRole('link', { name: lookUp.summary }),
      page.locator('.token-button'),
    ];
    for (const element of first.slice(EXAMPLE === undefined ? 0 : 2)) {
      const box = await element.boundingBox();
      expect(box && box.y + box.height).toBeLessThanOrEqual(height);
    }
    await first[1]?.click();
    const heading = page.locator(`h3#${lookUp.operationId}`);
    await expect.poll(async () => (await heading.boundingBox())?.y).toBeLessThan(100);
    // It says where the reader is, and on a phone it does not stay in the way.
    expect(await contents.getByRole('link', { name: lookUp.summary }).count()).toBe(
      width < 800 ? 0 : 1,
    );
    const current = page.locator('.sidebar [aria-current]');
    await expect.poll(() => current.getAttribute('href')).toBe(`#${lookUp.operationId}`);
  });

  it('enters the token, sends each example as it is, and sees the plant', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    for (const { operationId, examples, status } of await operationsToRun()) {
      const form = await operation(page, operationId);
      for (const { name, answer } of examples) {
        const select = form.locator('[data-fills]');
        if (name !== undefined && (await select.count()) > 0) {
          await select.selectOption({ index: examples.findIndex((one) => one.name === name) });
        }
        const live = await send(page, form);
        expect(`${operationId} ${name} ${live.status}`).toBe(`${operationId} ${name} ${status}`);
        // Indented like the examples, with every digit.
        const isJson = live.sent !== '' && !live.sent.endsWith('\n');
        const shown = isJson ? stringify(parse(live.sent), undefined, 2) : live.sent;
        expect(live.body).toBe(shown);
        if (answer !== undefined) {
          const body: unknown = typeof answer === 'string' ? live.body : JSON.parse(live.body);
          expect(body, `the answer of ${operationId}, ${name}`).toEqual(answer);
        }
        if (operationId === 'exportPlants') expect(live.body).toContain('"id":9007199254740993,');
      }
    }
    expect(faults).toEqual([]);
  });
});

it.skipIf(EXAMPLE !== undefined)('each operation of webhooks can be tried', async () => {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const own = await serviceForTest({
    environment: {
      WEBHOOK_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      WEBHOOK_ALLOWED_NETWORKS: 'loopback',
    },
  });
  const { page, faults } = await openDocs(browser, own.url);
  await authorize(page, TOKEN);
  const tried = new Set<string>();
  /** Sends the example of an operation, with other values in some fields. */
  const tryOut = async (operationId: string, fields: Readonly<Record<string, string>> = {}) => {
    tried.add(operationId);
    const form = await operation(page, operationId);
    for (const [name, value] of Object.entries(fields)) {
      await form.locator(`[name="${name}"]`).fill(value);
    }
    const { status, sent } = await send(page, form);
    const content: unknown = sent === '' ? {} : JSON.parse(sent);
    return { status, body: content as Readonly<Record<string, unknown>> };
  };

  const created = await tryOut('createWebhook');
  expect(created).toMatchObject({ status: '201', body: { secret: expect.any(String) as string } });
  const id = String(created.body['id']);
  const webhook = { id, url: 'https://example.com/webhooks', kinds: [], resources: [] };
  expect(await tryOut('listWebhooks')).toEqual({ status: '200', body: [webhook] });
  expect(await tryOut('getWebhook', { id })).toEqual({ status: '200', body: webhook });
  const patched = { ...webhook, kinds: ['created'] };
  expect(await tryOut('patchWebhook', { id })).toEqual({ status: '200', body: patched });
  // From now on, there are messages, which must not leave this machine.
  const body = JSON.stringify({ url: receiver.url() });
  expect(await tryOut('patchWebhook', { id, body })).toMatchObject({ status: '200' });
  const delivered = { webhookId: id, outcome: 'delivered', status: 200 };
  expect(await tryOut('testWebhook', { id })).toMatchObject({ status: '200', body: delivered });
  await own.post({ id: 1, name: 'Monstera' });
  const listed = async () => {
    const { body: found } = await tryOut('listWebhookDeliveries', { id });
    expect(found).toMatchObject([{ type: 'webhook.test' }, { type: 'plant.created' }]);
    return found as unknown as readonly { readonly id: number }[];
  };
  const [, ofPlant] = await vi.waitFor(listed, PATIENCE);
  const delivery = String(ofPlant!.id);
  const resent = await tryOut('resendWebhookDelivery', { id, delivery });
  expect(resent).toMatchObject({ status: '200', body: { ...delivered, type: 'plant.created' } });
  expect(receiver.idsOf()).toEqual([undefined, 1, 1]);
  const rotated = await tryOut('rotateWebhookSecret', { id });
  expect(rotated).toMatchObject({ status: '200', body: { id } });
  expect(rotated.body['secret']).not.toBe(created.body['secret']);
  expect(await tryOut('resumeWebhook', { id })).toMatchObject({ status: '200', body: { id } });
  expect(await tryOut('deleteWebhook', { id })).toEqual({ status: '204', body: {} });

  const all = (await operations()).filter(({ path }) => path.startsWith('/webhooks'));
  expect([...tried].toSorted()).toEqual(all.map(({ operationId }) => operationId).toSorted());
  expect(faults).toEqual([]);
});

describe('the address of an operation', () => {
  it.each([1280, 390])(
    'leads there when it is opened and when it is reloaded, on %i pixels, and nothing moves',
    async (width) => {
      const context = await browser.newContext({ viewport: { width, height: 900 } });
      /** Pixels between the heading and what is fixed above it. */
      const space = async (page: Page, operationId: string) => {
        const bar = (await page.locator('.menu').isVisible())
          ? ((await page.locator('.sidebar-bar').boundingBox())?.height ?? 0)
          : 0;
        return ((await page.locator(`h3#${operationId}`).boundingBox())?.y ?? -1) - bar;
      };
      const isAtTheTop = async (page: Page, operationId: string) => {
        await expect
          .poll(() => space(page, operationId), { message: `the space above ${operationId}` })
          .toSatisfy((pixels: number) => pixels >= 0 && pixels < 50);
      };
      const left = (await operations()).map(({ operationId }) => operationId);
      const check = async (page: Page) => {
        for (let next = left.pop(); next !== undefined; next = left.pop()) {
          // Another page in between, so that the page is loaded anew.
          await page.goto('about:blank');
          await page.goto(`${service.url}/docs#${next}`, { waitUntil: 'networkidle' });
          await isAtTheTop(page, next);
          await page.reload({ waitUntil: 'networkidle' });
          await isAtTheTop(page, next);
          expect(await page.evaluate(layoutShift)).toBeLessThan(0.1);
        }
      };
      // Several at a time, because each waits for the network to be idle.
      await Promise.all([1, 2, 3].map(async () => check(await context.newPage())));
    },
  );

  it('may be an old one', async () => {
    const { page } = await openDocs(browser, service.url);
    const { operationId, path } = (await operations()).at(-1)!;
    for (const form of ['#operations-TAG-ID', '#/TAG/ID']) {
      const hash = form.replace('TAG', path.split('/')[1]!).replace('ID', operationId);
      await page.goto('about:blank');
      await page.goto(`${service.url}/docs${hash}`);
      await expect.poll(() => page.url()).toBe(`${service.url}/docs#${operationId}`);
      const heading = page.locator(`h3#${operationId}`);
      await expect.poll(async () => (await heading.boundingBox())?.y).toBeLessThan(100);
    }
  });
});

describe('the reference', () => {
  /** What a reader sees in the first table below a heading, without opening anything. */
  const table = (within: string, heading: string) =>
    reading.locator(within).evaluate((reference, title) => {
      const start = [...reference.querySelectorAll('h3, h4')].find((one) =>
        (one as HTMLElement).innerText.startsWith(title),
      );
      let found = start?.nextElementSibling;
      while (found && found.tagName !== 'TABLE') found = found.nextElementSibling;
      return found?.checkVisibility()
        ? [...found.querySelectorAll('tr')].map((row) =>
            [...row.cells].map((cell) => cell.innerText.replaceAll(/\s+/g, ' ').trim()),
          )
        : [];
    }, heading);
  const ofOperation = (operationId: string) => `.operation:has(#${operationId}) .reference-text`;

  it('has every operation with its description, all its fields and all its failures', async () => {
    const rows = reading.locator('main tr > :first-child');
    const defined = new Set(await rows.allInnerTexts());
    const numbers = (within: Locator) => within.locator('.errors tbody th').allInnerTexts();
    const common = await numbers(reading.locator('.text:has(#common-errors)'));
    const commonFields = await reading
      .locator('.text:has(#common-headers) .fields tbody th')
      .allInnerTexts();
    for (const one of await operations()) {
      const { operationId, parameters, members, failures } = one;
      const part = partOf(reading, operationId);
      const text = (await part.innerText()).replaceAll(/\s+/g, ' ');
      const description = one.description.replaceAll('`', '').replaceAll(/\s+/g, ' ');
      for (const said of [one.summary, `${one.method.toUpperCase()} ${one.path}`, description]) {
        expect(text, `the text of ${operationId}`).toContain(said);
      }
      const own = await numbers(part);
      expect([...own, ...common].toSorted(), `the failures of ${operationId}`).toEqual(
        [...new Set(failures)].toSorted(),
      );
      const shown = await part.locator('.reference-text tr > :first-child').allInnerTexts();
      expect([...shown, ...commonFields], `the fields of ${operationId}`).toEqual(
        expect.arrayContaining([...parameters]),
      );
      expect(shown.filter((name) => commonFields.includes(name))).toEqual([]);
      // Each leads to its definition.
      const named = await part.locator('.schema a').allInnerTexts();
      expect(named, `the members of ${operationId}`).toEqual(expect.arrayContaining([...members]));
      for (const member of members) expect(defined).toContain(member);
    }
  });

  it('has every schema', async () => {
    const { schemas } = (await openApi()).components;
    expect(await reading.locator('.text:has(#schemas) h3').allInnerTexts()).toEqual(
      Object.keys(schemas),
    );
  });

  it('has name, type, need and rule of every field in sight', async () => {
    expect(await table('.text:has(#schemas)', 'NewPlant')).toEqual([
      ['Name', 'Type', 'Required', 'Constraints'],
      [
        'id',
        'integer (int64)',
        'required',
        'Identification number of the plant. at least -9223372036854775808 at most 9223372036854775807',
      ],
      ['name', 'string', 'required', expect.stringContaining('The name of the plant.')],
      ['tag', 'string', 'optional', expect.stringContaining('Tag that specifies the type')],
    ]);
    expect((await table(ofOperation('getPlant'), 'Parameters'))[1]).toEqual([
      'id',
      'integer (int64)',
      'required',
      expect.stringContaining('9223372036854775807'),
    ]);
    expect((await table(ofOperation('listPlants'), 'Parameters'))[1]?.[3]).toContain('default 50');
    const members = reading.locator(`${ofOperation('createPlant')} [id^="createPlant.body."]`);
    const cells = await members.evaluateAll((rows) =>
      (rows as HTMLTableRowElement[]).map((row) =>
        [...row.cells].map((cell) => cell.innerText.replaceAll(/\s+/g, ' ').trim()),
      ),
    );
    expect(cells).toEqual([
      ['id', 'integer (int64)', 'required', expect.stringMatching(/^Identification.*example 7$/)],
      ['name', 'string', 'required', expect.stringMatching(/^The name.*example Monstera$/)],
      ['tag', 'string', 'optional', expect.stringMatching(/^Tag that.*example indoor$/)],
    ]);
    const row = 'tr:has(> th [href="#schema-PlantChange.plant"])';
    const change = reading.locator(`${ofOperation('listChanges')} ${row}`);
    expect(await change.getByText('Monstera').isVisible()).toBe(false);
    await change.getByText('Fields of StoredPlant').click();
    expect(await change.getByText('Monstera').isVisible()).toBe(true);
    const summary = await table(ofOperation('importPlants'), 'Response');
    expect(summary.map(([, member]) => member)).toEqual(
      expect.arrayContaining(['line', 'error, message', 'created', 'unchanged', 'refused']),
    );
  });

  it('says of each error what to do, and has those of every operation in one place', async () => {
    for (const text of await reading.locator('.errors td').allInnerTexts()) {
      expect(text).not.toBe('');
    }
    const reference = reading.locator(ofOperation('createPlant'));
    const titles = await reference.locator('.errors thead th').allInnerTexts();
    expect(titles).toEqual(['Error', 'Meaning', 'What to do']);
    await reference.getByText('the errors of every operation').click();
    const common = reading.locator('.text:has(#common-errors)');
    expect(await common.getByText('50300').isVisible()).toBe(true);
    const field = reference.locator('.headers').getByText('Accept-Post');
    expect(await field.isVisible()).toBe(false);
    await reference.getByText('Response headers').click();
    expect(await field.isVisible()).toBe(true);
    await reference.getByText('Header fields of every operation').click();
    const headers = reading.locator('.text:has(#common-headers)');
    expect(await headers.getByText('WWW-Authenticate').isVisible()).toBe(true);
    expect(await reference.getByText('WWW-Authenticate').count()).toBe(0);
  });

  it('leads from the introduction to the schema of failures', async () => {
    const section = reading.locator('.text:has(#errors)');
    expect(await section.getByRole('link', { name: 'Error' }).getAttribute('href')).toBe(
      '#schema-Error',
    );
  });

  it('marks the part that the contents led to, also at the end of the page', async () => {
    await reading.goto(`${service.url}/docs`);
    const links = reading.locator('.sidebar nav a');
    for (const link of await links.all()) {
      await link.click();
      await expect.poll(() => link.getAttribute('aria-current')).toBe('location');
    }
    expect(await reading.locator('.sidebar [aria-current]').count()).toBe(1);
  });

  it.each([
    ['remove a plant', 'Remove a plant', '#deletePlant'],
    ['40009', '40009, Create a plant', '#createPlant.40009'],
    ['If-Match', 'If-Match, Replace a plant', '#replacePlant.If-Match'],
    ['limit', 'limit, List plants', '#listPlants.limit'],
    ['aftervalue', 'afterValue, List plants', '#listPlants.afterValue'],
    ['50306', '50306, List plants', '#listPlants.50306'],
    ['40400', '40400, Other errors', '#other-errors.40400'],
    ['ETag', 'ETag, Get a plant by its id, Response headers', '#getPlant.response.ETag'],
    ['pagination', 'List plants', '#listPlants'],
    ['csv', 'Export plants', '#exportPlants'],
    ['conflict', '40009, Create a plant', '#createPlant.40009'],
    ['retry', 'Retries', '#retries'],
    // What people type: a stem, another word, and one letter that is missing, wrong, too much or in another place.
    ['idempot', 'Retries', '#retries'],
    EXAMPLE === undefined
      ? ['webhook', 'Create a webhook', '#createWebhook']
      : ['webhook', 'List or follow changes', '#listChanges'],
    ['update', 'Replace a plant', '#replacePlant'],
    ['athentication', 'Authentication', '#authentication'],
    ['authenticetion', 'Authentication', '#authentication'],
    ['authentiication', 'Authentication', '#authentication'],
    ['uathentication', 'Authentication', '#authentication'],
  ])('finds %s', async (text, name, address) => {
    await reading.getByRole('searchbox').fill(text);
    const found = reading.locator('.results a', { hasText: name }).first();
    expect(await found.getAttribute('href')).toBe(address);
    await found.click();
    const place = reading.locator(`[id="${address.slice(1)}"]`);
    await expect.poll(async () => (await place.boundingBox())?.y).toBeLessThan(850);
    await reading.getByRole('searchbox').fill('xyzzy');
    expect(await reading.locator('.results').innerText()).toBe('Nothing found');
    await reading.getByRole('searchbox').fill('');
    expect(await reading.locator('.sidebar nav').isVisible()).toBe(true);
  });

  it('finds a name first by a word in it, and sections before numbers', async () => {
    await reading.getByRole('searchbox').fill('value');
    const [first] = await reading.locator('.results a').allInnerTexts();
    expect(first).toBe('afterValue, List plants');
    await reading.getByRole('searchbox').fill('token');
    const found = await reading.locator('.results a').allInnerTexts();
    const isNumber = found.map((name) => /^\d/.test(name));
    expect(isNumber).toContain(true);
    expect(isNumber.lastIndexOf(false)).toBeLessThan(isNumber.indexOf(true));
    await reading.getByRole('searchbox').fill('');
  });

  it.each([1280, 390])('is searched with the keyboard alone, on %i pixels', async (width) => {
    const { page } = await openDocs(browser, service.url, { viewport: { width, height: 800 } });
    const field = page.getByRole('searchbox');
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    for (const keys of ['/', 'Control+k', 'Meta+k']) {
      await page.keyboard.press(keys);
      expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
      await page.keyboard.type('remove');
      expect(await field.inputValue()).toBe('remove');
      await page.keyboard.press('Escape');
      expect(await page.locator('.results').isVisible()).toBe(false);
      expect(await focused()).toBe(await page.locator('body').textContent());
    }
    await page.keyboard.press('/');
    await page.keyboard.type('plant');
    const links = page.locator('.results a');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await focused()).toBe(await links.nth(1).textContent());
    await page.keyboard.press('ArrowUp');
    expect(await focused()).toBe(await links.first().textContent());
    await page.keyboard.press('ArrowUp');
    expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
    await field.fill('remove a plant');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toBe(`${service.url}/docs#deletePlant`);
    // A slash is a slash where one types.
    const form = await operation(page, 'listPlants');
    await form.locator('[name="tag"]').focus();
    await page.keyboard.type('a/b');
    expect(await form.locator('[name="tag"]').inputValue()).toBe('a/b');
  });

  it('asks in each form for what is needed first, says what each field is for, and offers values', async () => {
    const forms = await reading.locator('.try form').evaluateAll((all) =>
      all.map((form) =>
        [...form.querySelectorAll<HTMLInputElement>('textarea, [data-in]')].map((field) => ({
          name: field.name,
          tag: field.tagName,
          isLast: field.dataset['in'] === 'header' && field.labels?.[0]?.innerText !== 'Accept',
          about: document.getElementById(field.getAttribute('aria-describedby') ?? '')?.textContent,
        })),
      ),
    );
    const all = forms.flat();
    for (const fields of forms) {
      const places = fields.map(({ isLast }) => Number(isLast));
      expect(places).toEqual(places.toSorted((one, other) => one - other));
    }
    const described = all.filter(({ name }) => !['body', 'Accept'].includes(name));
    expect(described.filter(({ about = '' }) => about.trim() === '')).toEqual([]);
    const choices = new Set(all.filter(({ tag }) => tag === 'SELECT').map(({ name }) => name));
    expect([...choices]).toEqual(expect.arrayContaining(['sort', 'count', 'Accept']));
    const sort = reading.locator('form[data-name="listPlants"] [name="sort"]');
    expect(await sort.locator('option').allTextContents()).toEqual(
      expect.arrayContaining(['id (default)', 'id', '-id']),
    );
  });

  it('has nothing that is empty, and nothing to choose that is no choice', async () => {
    const text = await reading.locator('body').innerText();
    expect(text).not.toMatch(/Cancel|undefined|\[object/);
    const choices = await reading
      .locator('select:visible')
      .evaluateAll((selects) => selects.map((select) => (select as HTMLSelectElement).length));
    expect(choices.filter((length) => length < 2)).toEqual([]);
    const empty = await reading.evaluate(() =>
      [...document.querySelectorAll('h2, h3, h4')]
        .filter((heading) => heading.checkVisibility())
        .filter((heading) => {
          const next = heading.nextElementSibling ?? heading.parentElement?.nextElementSibling;
          return !next?.checkVisibility() && heading.querySelector('button') === null;
        })
        .map((heading) => heading.textContent),
    );
    expect(empty).toEqual([]);
  });

  it('has at most 70 characters in a line, whole words in tables, and no button over code', async () => {
    const { page } = await openDocs(browser, service.url);
    expect(await page.evaluate(longLines)).toEqual([]);
    await openAll(page);
    const broken = () =>
      page
        .locator('main td code, main th code')
        .evaluateAll((all) =>
          all
            .filter((code) => /^\w+$/.test(code.textContent) && code.getClientRects().length > 1)
            .map((code) => code.textContent),
        );
    for (const width of [801, 1280, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      const outside = await page.evaluate(outsideTheScreen);
      expect({ width, outside, broken: await broken() }).toEqual({
        width,
        outside: [],
        broken: [],
      });
    }
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      const covered = await page.evaluate(coveredCode);
      expect({ width, covered }).toEqual({ width, covered: [] });
    }
  });
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
    expect(await page.content()).not.toContain(TOKEN);
    await showTokenInSamples(page);
    const folder = await projectWithClient();
    const ofChanges = ({ path }: { readonly path: string }) => Number(path.startsWith('/changes'));
    const all = (await operationsToRun()).toSorted((one, two) => ofChanges(one) - ofChanges(two));
    for (const language of LANGUAGES) {
      await service.database.empty();
      // The samples are the first examples. In the example, operations need the later examples of others.
      const stored = EXAMPLE === undefined ? [] : all;
      for (const { path, bodies } of stored.filter((one) => one.bodies.length > 0)) {
        const headers = { 'Content-Type': 'application/json' };
        for (const body of bodies) {
          await service.request('POST', path, { headers, body: JSON.stringify(body) });
        }
      }
      await choose(page, language);
      const outputs: Record<string, string> = {};
      for (const { operationId, method, status, examples } of all) {
        expect(await sample(operationId, language).isVisible()).toBe(true);
        const code = await sample(operationId, language).locator('code').innerText();
        expect(code).toContain(TOKEN);
        const what = `${operationId} in ${language}`;
        const stdout = await run(language, code, folder);
        outputs[operationId] = stdout;
        // What a PATCH leaves depends on the changes before it.
        const answer = method === 'patch' ? undefined : examples[0]?.answer;
        if (language === 'TypeScript') {
          // Objects with bigints, as Node.js prints them.
          for (const value of stringsIn(answer))
            expect(stdout, `the output of ${what}`).toContain(value);
          continue;
        }
        // curl prints the body alone.
        const [, printed, body = ''] = /^(?:(\d{3}) )?(.*)$/s.exec(stdout) ?? [];
        if (language !== 'curl') expect(printed, `${what}: ${stdout}`).toBe(String(status));
        if (answer === undefined) expect(body, `the answer of ${what}`).not.toContain('"error":');
        else if (typeof answer === 'string')
          expect(body.trim(), `the answer of ${what}`).toBe(answer.trim());
        else expect(JSON.parse(body), `the answer of ${what}`).toEqual(answer);
      }
      if (EXAMPLE !== undefined) continue;
      const { listChanges = '', getLatestPosition } = outputs;
      const [name] = stringsIn(all[0]!.bodies[0]);
      expect(listChanges, `the changes in ${language}`).toContain(name);
      const [, latest] = [...listChanges.matchAll(/position\W+(\d+)/g)].at(-1)!;
      expect(getLatestPosition, `the position in ${language}`).toContain(latest);
    }
    await rm(folder, { recursive: true });
    expect(faults).toEqual([]);
  });

  it.skipIf(EXAMPLE !== undefined)('show the precondition of a change', async () => {
    const code = (operationId: string, language: string) =>
      partOf(reading, operationId).locator(`[data-sample="${language}"]`).textContent();
    for (const operationId of ['patchPlant', 'deletePlant']) {
      for (const language of ['curl', 'Python', 'Go']) {
        expect(await code(operationId, language)).toContain('If-Match');
      }
      expect(await code(operationId, 'TypeScript')).toContain('ifMatch: etag');
    }
    expect(await code('patchPlant', 'curl')).toContain(
      'Content-Type: application/merge-patch+json',
    );
  });

  it('are in the language that was chosen last, everywhere', async () => {
    const { page } = await openDocs(browser, service.url);
    await partOf(page, 'getPlant').locator('[data-language="Go"]').click();
    await page.reload();
    for (const operationId of ['createPlant', 'getPlant']) {
      const part = partOf(page, operationId);
      expect(await part.locator('[data-sample="Go"]').isVisible()).toBe(true);
      expect(await part.locator('[data-sample="curl"]').isVisible()).toBe(false);
    }
    expect(await page.evaluate(layoutShift)).toBeLessThan(0.1);
  });

  it('can be copied, with the token, and name the server that the page came from', async () => {
    const { page } = await openDocs(browser, service.url);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await authorize(page, TOKEN);
    const sample = partOf(page, 'getPlant').locator('[data-sample="curl"]');
    expect(await sample.innerText()).toContain('Bearer ••••••••');
    await sample.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain(`curl ${service.url}/plants/1001`);
    expect(copied).toContain(`Bearer ${TOKEN}'`);
    const blocks = await page.locator('main .code').count();
    expect(await page.locator('main .code .copy').count()).toBe(blocks);
  });
});

describe('the token', () => {
  it('is remembered until it is forgotten, and nothing is answered without it', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    await page.reload();
    expect((await send(page, await operation(page, 'createPlant'))).status).toBe('200');
    expect(await page.locator('.token-button').innerText()).toBe('Token entered');
    expect(await page.evaluate(() => JSON.stringify(localStorage))).toContain(TOKEN);
    expect(faults).toEqual([]);

    await forgetToken(page);
    expect(await page.locator('.token-button').innerText()).toBe('Enter a token');
    expect(await page.content()).not.toContain(TOKEN);
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(TOKEN);
    const { status, body } = await send(page, await operation(page, 'createPlant'));
    expect(status).toBe('401');
    expect(JSON.parse(body)).toMatchObject({ error: 40100 });
    await page.locator('.live-response').getByRole('button', { name: 'Enter a token' }).click();
    expect(await page.getByLabel('Token', { exact: true }).isVisible()).toBe(true);
    // Chromium reports every answer that is no success.
    expect(faults).toEqual([expect.stringContaining('401')]);
  });

  it('is the same in every tab, and may be pasted as it was copied', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    const other = await page.context().newPage();
    await other.goto(`${service.url}/docs`);
    const state = () => other.locator('.token-button').innerText();
    await authorize(page, ` Bearer ${TOKEN}\n`);
    await expect.poll(state).toBe('Token entered');
    for (const tab of [page, other]) {
      await tab.bringToFront();
      expect((await send(tab, await operation(tab, 'createPlant'))).status).toBe('200');
    }
    await forgetToken(page);
    await expect.poll(state).toBe('Enter a token');
    expect(await other.content()).not.toContain(TOKEN);

    await page.locator('.token-button').click();
    await page.getByLabel('Keep the token in this tab only').check();
    await page.keyboard.press('Escape');
    await authorize(page, TOKEN);
    await page.reload();
    await page.locator('.token-button').click();
    await page.getByText('This tab keeps it').waitFor();
    await page.keyboard.press('Escape');
    expect((await send(page, await operation(page, 'createPlant'))).status).toBe('200');
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(TOKEN);
    await other.reload();
    expect(await state()).toBe('Enter a token');
    await page.goto(`${service.url}/docs/swagger-ui`);
    await page.locator('.authorize.locked').waitFor();
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(TOKEN);
    expect(faults).toEqual([]);
  });

  it('is tried before it is kept', async () => {
    const { page } = await openDocs(browser, service.url);
    const dialog = page.getByRole('dialog');
    for (const [token, refusal] of [
      [' \n', 'Paste a token first.'],
      ['wrong', 'Wrong token: the bearer token is not valid.'],
      // No header can hold it.
      ['tökén—', 'The token could not be sent. A header field cannot have the character “—”.'],
    ] as const) {
      await enterToken(page, token);
      await dialog.getByText(refusal).waitFor();
      expect(await page.locator('.token-button').textContent()).toBe('Enter a token');
      expect(await page.evaluate(() => JSON.stringify(localStorage))).toBe('{}');
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    }
    await enterToken(page, 'wrong');
    await dialog.getByText('Wrong token').waitFor();
    await page.getByLabel('Token', { exact: true }).fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Token entered' }).waitFor();
  });

  it.each(['no JSON', 'null', '7', '["a"]', '{"bearerAuth":{"value":7}}'])(
    'is not what somebody else has stored in its place: %s',
    async (value) => {
      const { page, faults } = await openDocs(browser, service.url);
      await page.evaluate((text) => {
        for (const key of ['authorized', 'language']) localStorage.setItem(key, text);
      }, value);
      await page.goto(`${service.url}/docs/swagger-ui`);
      await page.locator('.authorize.unlocked').waitFor();
      await page.evaluate((text) => localStorage.setItem('authorized', text), value);
      await page.goto(`${service.url}/docs`);
      expect(await page.locator('.token-button').innerText()).toBe('Enter a token');
      await authorize(page, TOKEN);
      expect((await send(page, await operation(page, 'createPlant'))).status).toBe('200');
      await page.getByRole('searchbox').fill('createPlant');
      expect(await page.locator('.results a').count()).toBeGreaterThan(0);
      expect(faults).toEqual([]);
    },
  );

  it('fits its field', async () => {
    const { page } = await openDocs(browser, service.url);
    await page.locator('.token-button').click();
    const field = page.getByLabel('Token', { exact: true });
    // A token of an issuer that signs with ES256.
    for (const [width, length] of [
      [1280, 300],
      [375, 150],
    ] as const) {
      await page.setViewportSize({ width, height: 667 });
      await field.fill('a'.repeat(length));
      const fits = await field.evaluate(
        ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
          scrollWidth <= clientWidth && scrollHeight <= clientHeight,
      );
      expect({ width, fits }).toEqual({ width, fits: true });
    }
  });
});

// What has nothing to do with the resources is tested once, without an example.
describe.skipIf(EXAMPLE !== undefined)('a request', () => {
  let page: Page;
  let faults: readonly string[];

  beforeAll(async () => {
    ({ page, faults } = await openLasting());
    await authorize(page, TOKEN);
  });

  beforeEach(() => page.reload());

  it('may have an id of 2^63 - 1, and is refused beyond it with the exact limit', async () => {
    const post = await operation(page, 'createPlant');
    await post.locator('textarea').fill(`{"id":${LARGEST_ID},"name":"Last"}`);
    expect((await send(page, post)).status).toBe('200');
    const get = await operation(page, 'getPlant');
    await inputOf(get).fill(LARGEST_ID);
    const { status, body } = await send(page, get);
    expect(status).toBe('200');
    expect(body).toBe(`{\n  "id": ${LARGEST_ID},\n  "name": "Last"\n}`);
    // In the colors of the samples.
    expect(await get.locator('.response-body .number').innerText()).toBe(LARGEST_ID);
    expect(faults).toEqual([]);
    for (const [id, limit] of [
      ['9223372036854775808', LARGEST_ID],
      ['99999999999999999999', LARGEST_ID],
      ['-99999999999999999999', '-9223372036854775808'],
    ] as const) {
      await inputOf(get).fill(id);
      const refused = await send(page, get);
      expect({ id, status: refused.status }).toEqual({ id, status: '400' });
      expect(refused.body).toContain('40004');
      expect(refused.body).toContain(limit);
    }
  });

  it('can have a precondition: 304 and 412', async () => {
    await service.database.empty();
    await service.post({ id: 1001, name: 'Ficus' });
    const get = await operation(page, 'getPlant');
    await inputOf(get).fill('1001');
    await send(page, get);
    const fields = (await get.locator('.live-headers').textContent()) ?? '';
    const [, etag = ''] = /^etag: (.*)$/m.exec(fields) ?? [];
    await get.getByLabel('If-None-Match').fill(etag);
    expect((await send(page, get)).status).toBe('304');

    const patch = await operation(page, 'patchPlant');
    await patch.getByLabel('If-Match').fill(etag);
    await patch.getByLabel('X-Request-Id').fill('by-hand');
    const request = page.waitForRequest((candidate) => candidate.method() === 'PATCH');
    const changed = await send(page, patch);
    expect((await request).headers()).toMatchObject({
      'content-type': 'application/merge-patch+json',
      'x-request-id': 'by-hand',
      'if-match': etag,
    });
    expect(changed.status).toBe('200');
    await inputOf(patch).last().fill('{"tag":"balcony"}');
    await send(page, patch);
    expect((await send(page, patch)).status).toBe('412');
  });

  it('may have a file as its body', async () => {
    const form = await operation(page, 'importPlants');
    const buffer = Buffer.from('{"id":2001,"name":"Aloe"}\n');
    await form
      .locator('[type="file"]')
      .setInputFiles({ name: 'plants.ndjson', mimeType: '', buffer });
    const { body, curl } = await send(page, form);
    expect(body).toContain('"created":1');
    expect(curl).toContain(`--data-binary '@plants.ndjson'`);
  });

  it('says that its file was changed after the choice, which browsers do not send', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'changed-file-'));
    const file = join(folder, 'plants.ndjson');
    await writeFile(file, '{"id":2001,"name":"Aloe"}\n');
    const form = await operation(page, 'importPlants');
    await form.locator('[type="file"]').setInputFiles(file);
    await utimes(file, new Date(), new Date(Date.now() + 60_000));
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByText('The file was changed or removed after you chose it.').waitFor();
    await rm(folder, { recursive: true });
  });

  it('is a curl line that works when pasted, whatever the plant is called', async () => {
    const id = '9223372036854775806';
    const plant = { name: `It's "50%" \\ $HOME \`id\` !! 🌵\n`, tag: "'; exit 1; '" };
    const text = `{"id": ${id}, ${JSON.stringify(plant).slice(1)}`;
    const post = await operation(page, 'createPlant');
    await post.locator('textarea').fill(text);
    const { status, body, sent, curl } = await send(page, post);
    expect(status).toBe('200');
    expect(curl).toContain(id);
    const paste = async (line: string) =>
      (await promisify(execFile)('bash', ['-c', `${line} --silent --show-error`])).stdout;
    expect(await paste(curl)).toBe(sent);
    expect(JSON.parse(body)).toEqual(plant);

    const get = await operation(page, 'getPlant');
    await inputOf(get).fill(id);
    const stored = await send(page, get);
    expect(stored.curl).toContain(`/plants/${id}'`);
    expect(stored.body).toContain(`"id": ${id},`);
    expect(await paste(stored.curl)).toBe(stored.sent);

    const lines = await operation(page, 'importPlants');
    await lines.locator('textarea').fill(`${text}\n${text}\n`);
    const imported = await send(page, lines);
    expect(imported.body).toBe('{"created":0,"unchanged":2,"refused":0}\n');
    expect(await paste(imported.curl)).toBe(imported.body);
  });

  it('can be canceled while its answer arrives, and says in words of ours why it was not sent', async () => {
    const form = await operation(page, 'exportPlants');
    const field = form.getByLabel('X-Request-Id');
    const sendIt = form.getByRole('button', { name: 'Send' });
    await field.fill('5 €');
    await sendIt.click();
    expect(await field.evaluate((input) => (input as HTMLInputElement).validationMessage)).toBe(
      'A header field cannot have the character “€”.',
    );
    expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
    expect(await form.locator('.live-response').count()).toBe(0);
    await field.fill('');
    await page.route('**/plants/export', (route) => route.abort());
    await sendIt.click();
    await form.getByText('No response. Check that the service runs').waitFor();
    await page.unroute('**/plants/export');
    // A service that never ends its answer.
    await page.route('**/plants/export', () => undefined);
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByRole('button', { name: 'Cancel' }).click();
    await form.getByText('Canceled').waitFor();
    await form.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden' });
    await page.unroute('**/plants/export');
  });
});

describe.skipIf(EXAMPLE !== undefined)('a form', () => {
  let page: Page;
  let faults: readonly string[];

  beforeEach(async () => {
    await service.database.empty();
    ({ page, faults } = await openDocs(browser, service.url));
  });

  const sample = (operationId: string, language: string) =>
    partOf(page, operationId).locator(`[data-sample="${language}"] code`);

  it('sends with Ctrl+Enter, and brings the answer into sight', async () => {
    await authorize(page, TOKEN);
    await page.setViewportSize({ width: 1280, height: 500 });
    for (const keys of ['Control+Enter', 'Meta+Enter']) {
      const form = await operation(page, 'createPlant');
      await form.locator('textarea').focus();
      await page.keyboard.press(keys);
      const answer = form.locator('.live-response');
      await answer.getByText('200 OK').waitFor();
      await answer.getByRole('link', { name: 'Download' }).waitFor();
      await expect
        .poll(async () => {
          const { y = -1, height = 0 } = (await answer.boundingBox()) ?? {};
          return y >= 0 && y + height <= 500;
        })
        .toBe(true);
      // The reader can go on typing.
      expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA');
      await page.reload();
    }
    expect(faults).toEqual([]);
  });

  it('says what to do about a failure', async () => {
    await authorize(page, TOKEN);
    await service.post({ id: 1001, name: 'Another' });
    const form = await operation(page, 'createPlant');
    expect((await send(page, form)).status).toBe('400');
    const remedy = form.locator('.remedy');
    await expect
      .poll(() => remedy.innerText())
      .toBe(
        '40009: To resolve the conflict, choose another id, or send the content that is stored.',
      );
    await remedy.getByRole('link').click();
    expect(page.url()).toBe(`${service.url}/docs#createPlant.40009`);
    // Of a failure of every operation, and one that no operation lists.
    await page.route('**/plants/1001', (route) => {
      const json = { error: 40400, message: 'no' };
      return route.fulfill({ status: 404, json });
    });
    const get = await operation(page, 'getPlant');
    await get.getByRole('button', { name: 'Send' }).click();
    await get.getByText('Check the path').waitFor();
    await page.unrouteAll();
    await page.route('**/plants/1001', (route) => {
      const json = { error: 50300, message: 'no' };
      return route.fulfill({ status: 503, json });
    });
    await get.getByRole('button', { name: 'Send' }).click();
    await get.getByText('50300: Retry').waitFor();
  });

  it('shows what is filled in as code, in every language', async () => {
    const list = await operation(page, 'listPlants');
    await list.locator('[name="tag"]').fill("it's");
    await list.getByLabel('limit').fill('7');
    await list.getByLabel('sort').selectOption('-id');
    await list.getByLabel('ids').fill(' 1, 2');
    await list.getByLabel('count').selectOption('true');
    const listed = `${service.url}/plants?limit=7&sort=-id&ids=1%2C2&count=true&tag=it%27s`;
    for (const language of LANGUAGES) {
      await expect.poll(() => sample('listPlants', language).textContent()).toContain(listed);
    }
    await page.reload();
    expect(await list.getByLabel('sort').inputValue()).toBe('-id');
    await expect.poll(() => sample('listPlants', 'curl').textContent()).toContain(listed);
    const create = await operation(page, 'createPlant');
    const body = `{"id":${LARGEST_ID},"name":"It's \\"€\\" </script>"}`;
    await create.locator('textarea').fill(body);
    await expect
      .poll(() => sample('createPlant', 'TypeScript').textContent())
      .toContain(`store.create({ id: ${LARGEST_ID}n, name: 'It\\'s "€" </script>' })`);
    expect(await sample('createPlant', 'Python').textContent()).toContain(`"id": ${LARGEST_ID}`);
    expect(await sample('createPlant', 'Go').textContent()).toContain(`\`${body}\``);
    await create.locator('textarea').fill('{"id":');
    await expect.poll(() => sample('createPlant', 'Python').textContent()).toContain('{\\"id\\":');

    const get = await operation(page, 'getPlant');
    await get.locator('[data-fills="id"]').selectOption({ index: 2 });
    await expect
      .poll(() => sample('getPlant', 'TypeScript').textContent())
      .toContain('store.get(9007199254740993n)');
    await get.getByLabel('If-None-Match').fill('"x"');
    for (const language of LANGUAGES) {
      await expect
        .poll(() => sample('getPlant', language).textContent())
        .toContain('If-None-Match');
    }
    await authorize(page, TOKEN);
    expect(await sample('getPlant', 'curl').innerText()).toContain('Bearer ••••••••');
    await get.getByLabel('If-None-Match').fill('');
    await expect.poll(() => sample('getPlant', 'curl').innerText()).toContain('Bearer ••••••••');
    expect(faults).toEqual([]);
  });

  it('shows the file that it sends as code that runs, in every language', async () => {
    await authorize(page, TOKEN);
    await showTokenInSamples(page);
    const folder = await mkdtemp(join(tmpdir(), 'samples-'));
    const file = join(folder, 'of plants.ndjson');
    await writeFile(file, '{"id":1,"name":"http://localhost:3000 YOUR_TOKEN"}\n');
    const form = await operation(page, 'importPlants');
    await form.locator('[type="file"]').setInputFiles(file);
    for (const language of LANGUAGES) {
      await choose(page, language);
      const code = sample('importPlants', language);
      await expect.poll(() => code.innerText()).toContain('of plants.ndjson');
      await service.database.empty();
      expect(await run(language, await code.innerText(), folder)).toContain('"created":1');
    }
    await rm(folder, { recursive: true });
    const create = await operation(page, 'createPlant');
    const name = 'http://localhost:3000 YOUR_TOKEN';
    await create.locator('textarea').fill(JSON.stringify({ id: 2, name }));
    for (const language of LANGUAGES) {
      await expect.poll(() => sample('createPlant', language).textContent()).toContain(name);
    }
    expect(faults).toEqual([]);
  });

  it('leads from page to page', async () => {
    for (let id = 1; id <= 5; id += 1) await service.post({ id, name: `Plant ${id}` });
    await authorize(page, TOKEN);
    const form = await operation(page, 'listPlants');
    await form.getByLabel('limit').fill('2');
    const shown = form.locator('.response-body code');
    const next = form.getByRole('button', { name: 'Next page' });
    await form.getByRole('button', { name: 'Send' }).click();
    await shown.getByText('Plant 2').waitFor();
    await next.focus();
    await page.keyboard.press('Enter');
    await shown.getByText('Plant 4').waitFor();
    expect(await form.locator('[name="after"]').inputValue()).toBe('2');
    // The key can be pressed again.
    await expect
      .poll(() => next.evaluate((button) => button === document.activeElement))
      .toBe(true);
    await page.keyboard.press('Enter');
    await shown.getByText('Plant 5').waitFor();
    await form.locator('[type="submit"]:enabled').waitFor();
    expect(await next.count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('sends a request that was refused as soon as there is a good token', async () => {
    const dialog = page.getByRole('dialog');
    const form = await operation(page, 'createPlant');
    expect((await send(page, form)).status).toBe('401');
    await form.getByRole('button', { name: 'Enter a token' }).click();
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Send the request' }).waitFor();
    await page.keyboard.press('Enter');
    await form.getByText('200 OK').waitFor();
    expect(await dialog.count()).toBe(0);

    // A token that is no longer valid gives way to another at once.
    await page.evaluate(() => {
      const kept = localStorage.getItem('authorized')!;
      localStorage.setItem('authorized', kept.replace(/"value":"/, '"value":"old-'));
    });
    expect((await send(page, form)).status).toBe('401');
    await form.getByRole('button', { name: 'Enter a token' }).click();
    await page.getByLabel('Token', { exact: true }).fill(TOKEN);
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Send the request' }).click();
    await form.getByText('200 OK').waitFor();
    // It belongs to the request that was refused.
    await page.locator('.token-button').click();
    expect(await dialog.getByRole('button', { name: 'Send the request' }).count()).toBe(0);
  });
});

describe.skipIf(EXAMPLE !== undefined)('a long answer', () => {
  it('leaves the page small and usable, and can be downloaded', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    await service.database.query(
      "INSERT INTO plants (id, name) SELECT id, 'Plant ' || id FROM generate_series(100001, 120000) AS id",
    );
    const form = await operation(page, 'exportPlants');
    await form.getByLabel('after').fill('100000');
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByRole('link', { name: 'Download' }).waitFor();
    const body = (await form.locator('.response-body code').textContent()) ?? '';
    const sent = (await service.request('GET', '/plants/export?after=100000')).text;
    expect(body.split('\n')).toEqual(sent.split('\n').slice(0, 100));
    const size = Buffer.byteLength(sent).toLocaleString('en');
    expect(await form.locator('.progress').innerText()).toContain(`${size} bytes`);
    const measure = () =>
      page.evaluate(() => ({
        nodes: document.querySelectorAll('*').length,
        height: document.documentElement.scrollHeight,
      }));
    const { nodes, height } = await measure();
    expect(nodes).toBeLessThan(20_000);
    expect(await downloaded(page, form, 'exportPlants.ndjson')).toBe(sent);
    await form.getByRole('button', { name: 'Show all' }).click();
    const shown = form.locator('.response-body code');
    await expect.poll(async () => (await shown.textContent())?.length).toBeGreaterThan(500_000);
    expect((await measure()).height).toBeLessThan(height + 2_000);
    expect((await measure()).nodes).toBeLessThan(20_000);
    expect(faults).toEqual([]);
    await service.database.empty();
  });
});

describe.skipIf(EXAMPLE !== undefined)('the changes', () => {
  const create = (id: number) => service.post({ id, name: `Plant ${id}` });

  it('are shown live, the newest in sight, until the reader has seen enough', async () => {
    await service.database.empty();
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    const form = await operation(page, 'listChanges');
    await form.locator('[name="Accept"]').selectOption('text/event-stream');
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim());
    await form.getByRole('button', { name: 'Send' }).focus();
    await page.keyboard.press('Enter');
    expect(await focused()).toBe('Cancel');
    const shown = form.locator('.response-body code');
    await form.getByText('Following: ').waitFor();
    await create(3000);
    await shown.getByText('"name":"Plant 3000"').waitFor();
    expect(await form.locator('.curl-command code').textContent()).toContain(
      "'Accept: text/event-stream'",
    );
    for (let id = 3001; id <= 3060; id += 1) await create(id);
    await shown.getByText('"name":"Plant 3060"').waitFor();
    const text = (await shown.textContent()) ?? '';
    expect(text).not.toContain('"Plant 3000"');
    expect(text.split('\n').length).toBeLessThanOrEqual(100);
    const hidden = await form
      .locator('.response-body pre')
      .evaluate((pre) => pre.scrollHeight - pre.scrollTop - pre.clientHeight);
    expect(hidden).toBeLessThan(10);
    expect(await form.locator('.curl-command code').textContent()).toContain('curl -N');
    await page.keyboard.press('Enter');
    await form.getByText('Canceled').waitFor();
    await expect.poll(focused).toBe('Send');
    expect(await shown.textContent()).toBe(text);
    await form.getByText('Following').waitFor({ state: 'detached' });
    const [, last] = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)!;
    await form.getByText(`The last id is ${last}.`).waitFor();
    const events = (await downloaded(page, form, 'listChanges.txt')).matchAll(/^data: (.*)$/gm);
    const ids = Array.from(events, ([, data]) => (JSON.parse(data!) as { id: number }).id);
    expect(ids).toEqual(Array.from({ length: 61 }, (_, index) => 3000 + index));

    await form.getByRole('button', { name: `Go on after ${last}` }).click();
    expect(await form.getByLabel('Last-Event-ID').inputValue()).toBe(last);
    await create(3061);
    await shown.getByText('"name":"Plant 3061"').waitFor();
    expect(await shown.textContent()).not.toContain('Plant 3060');
    await form.getByRole('button', { name: 'Cancel' }).click();
    await form.locator('[type="submit"]:enabled').waitFor();
    await create(3062);
    await form.getByRole('button', { name: 'Stream from now on' }).click();
    await form.getByText('Following: ').waitFor();
    await create(3063);
    await shown.getByText('"name":"Plant 3063"').waitFor();
    expect(await shown.textContent()).not.toContain('Plant 3062');
    expect(faults).toEqual([]);
    await service.database.empty();
  });

  it('say when the service has ended them, and from where to go on', async () => {
    const { page } = await openDocs(browser, service.url);
    await page.route('**/changes?*', (route) =>
      route.fulfill({
        contentType: 'text/event-stream',
        body: 'id: 9007199254740993\ndata: {}\n\n: comment\n\nid: 9007199254740994\ndata: {}\n',
      }),
    );
    const form = await operation(page, 'listChanges');
    await form.getByLabel('limit').fill('1');
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByText('Ended by the service').waitFor();
    // The last event is not complete.
    await form.getByRole('button', { name: 'Go on after 9007199254740993' }).waitFor();
  });

  it.each([
    ['an export that is complete', '{"id":9007199254740993}\n\n', undefined],
    ['an export that is not', '{"id":9007199254740993}\n{"id":90071', '9007199254740993'],
  ])('go on, as does %s', async (_name, body, last) => {
    const { page } = await openDocs(browser, service.url);
    await page.route('**/plants/export', (route) =>
      route.fulfill({ contentType: 'application/x-ndjson', body }),
    );
    const form = await operation(page, 'exportPlants');
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByRole('link', { name: 'Download' }).waitFor();
    const goOn = form.getByRole('button', { name: 'Go on after' });
    expect(await goOn.allInnerTexts()).toEqual(last === undefined ? [] : [`Go on after ${last}`]);
  });
});

describe('Swagger UI', () => {
  it('has its own address, takes the token of the page, and shows every digit of a response', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await service.request('POST', '/plants', {
      headers: { 'Content-Type': 'application/json' },
      body: `{"id":${LARGEST_ID},"name":"Last"}`,
    });
    await authorize(page, TOKEN);
    await page.getByRole('link', { name: 'Swagger UI' }).click();
    await page.locator('.authorize.locked').waitFor();
    // Above what it says.
    const note = page.getByText('shows no limits beyond 2^53');
    expect((await note.boundingBox())?.y).toBeLessThan(100);
    const link = page.getByRole('link', { name: 'The docs page' });
    expect(await link.evaluate((one) => (one as HTMLAnchorElement).href)).toBe(
      `${service.url}/docs`,
    );
    await page.locator('[id$="-listPlants"] .opblock-summary-control').click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    const [response] = await Promise.all([
      page.waitForResponse((candidate) => candidate.url().includes('/plants')),
      page.getByRole('button', { name: 'Execute' }).click(),
    ]);
    expect(response.status()).toBe(200);
    await page.locator('.live-responses-table', { hasText: `"id": ${LARGEST_ID}` }).waitFor();
    expect(await page.locator('body').innerText()).not.toContain('9223372036854776000');
    expect(faults).toEqual([]);
  });

  it('keeps and forgets a token where the reader of the docs page has chosen: in all tabs, or in this one', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    const places = () =>
      page.evaluate(() =>
        [localStorage, sessionStorage].map((storage) => storage.getItem('authorized') !== null),
      );
    for (const [isOfTab, kept] of [
      [false, [true, false]],
      [true, [false, true]],
    ] as const) {
      await page.goto(`${service.url}/docs`);
      await page.locator('.token-button').click();
      await page.getByLabel('Keep the token in this tab only').setChecked(isOfTab);
      await page.goto(`${service.url}/docs/swagger-ui`);
      await enterTokenInSwaggerUi(page);
      expect({ isOfTab, places: await places() }).toEqual({ isOfTab, places: kept });
      await page.reload();
      await page.locator('.authorize.locked').click();
      await page.getByRole('button', { name: 'Remove authorization' }).click();
      await page.locator('.authorize.unlocked').waitFor();
      expect(await places()).toEqual([false, false]);
    }
    expect(faults).toEqual([]);
  });

  it('sends every digit of an example, and any id', async () => {
    const { page } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    await page.goto(`${service.url}/docs/swagger-ui`);
    await page.locator('.authorize.locked').waitFor();
    const open = async (name: string) => {
      const part = page.locator(`[id$="-${name}"]`);
      await part.locator('.opblock-summary-control').click();
      await part.getByRole('button', { name: 'Try it out' }).click();
      return part;
    };
    const execute = async (part: Locator) => {
      const [request] = await Promise.all([
        page.waitForRequest((one) => one.url().includes('/plants')),
        part.getByRole('button', { name: 'Execute' }).click(),
      ]);
      return request;
    };
    const create = await open('createPlant');
    await create.locator('.examples-select select').first().selectOption('long-id');
    expect(
      JSON.parse((await execute(create)).postData()!.replace('9007199254740993', '1')),
    ).toEqual(expect.objectContaining({ id: 1 }));
    const get = await open('getPlant');
    await get.locator('.examples-select select').first().selectOption('long-id');
    expect((await execute(get)).url()).toBe(`${service.url}/plants/9007199254740993`);
    for (const id of ['95', '-5', LARGEST_ID]) {
      await get.getByPlaceholder('id', { exact: true }).fill(id);
      expect((await execute(get)).url()).toBe(`${service.url}/plants/${id}`);
    }
    expect(await page.locator('body').innerText()).not.toMatch(
      /900719925474099[24]|9223372036854776000/,
    );
  });
});

describe('the page', () => {
  it('works on any host, at the root and below a path', async () => {
    const below = await startTestService({
      environment: { PUBLIC_BASE_URL: 'https://shop.example.com/store/api' },
    });
    try {
      for (const served of [service, below]) {
        for (const host of ['127.0.0.1', 'localhost']) {
          const url = served.url.replace('127.0.0.1', host);
          const { page, faults } = await openDocs(browser, url);
          await authorize(page, TOKEN);
          const { status, curl } = await send(page, await operation(page, 'createPlant'));
          expect(status).toBe('200');
          expect(curl).toContain(`${url}/plants`);
          const sample = partOf(page, 'createPlant').locator('[data-sample="curl"]');
          expect(await sample.innerText()).toContain(`${url}/plants`);
          await page.setViewportSize({ width: 375, height: 667 });
          expect(await page.evaluate(outsideTheScreen)).toEqual([]);
          expect(faults).toEqual([]);
        }
      }
    } finally {
      await below.stop();
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
      expect((await send(page, part)).status).toBe('200');
      await inputOf(part).fill('7');
    }
    await openAll(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    expect(await page.evaluate(outsideTheScreen)).toEqual([]);
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
    await tabTo(/Enter a token/);
    await page.keyboard.press('Enter');
    await page.getByLabel('Token', { exact: true }).waitFor();
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Token entered' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    // The choice of the language has neither class nor text.
    await tabTo(/^ $/);
    await page.keyboard.press('ArrowRight');
    const part = partOf(page, create.operationId);
    await part.locator('[data-sample=TypeScript]').waitFor();
    await tabTo(new RegExp(`POST.*${create.summary}`, 's'));
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain(`#${create.operationId}`);
    await tabTo(/Try it/);
    await page.keyboard.press('Enter');
    await tabTo(/Send/);
    const [response] = await Promise.all([
      page.waitForResponse(service.url + create.path),
      page.keyboard.press('Enter'),
    ]);
    expect(response.status()).toBe(200);
    expect(faults).toEqual([]);
  });

  it('names each choice and button once, by what it is for', async () => {
    const { page } = await openDocs(browser, service.url);
    for (const language of LANGUAGES) {
      await page.getByRole('radio', { name: language, exact: true }).waitFor();
    }
    await page.locator('.copy').last().waitFor();
    const names = await page.locator('.copy').allTextContents();
    expect(new Set(names).size).toBe(names.length);
    const part = partOf(page, 'createPlant');
    await part
      .getByRole('button', { name: 'Copy request in curl, Create a plant', exact: true })
      .waitFor();
  });

  it('can be read from its content on, without its header and its contents', async () => {
    const { page } = await openDocs(browser, service.url);
    await page.keyboard.press('Tab');
    const skip = page.getByRole('link', { name: 'Skip to the content' });
    expect(await skip.evaluate((link) => link === document.activeElement)).toBe(true);
    expect((await skip.boundingBox())?.width).toBeGreaterThan(50);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    const isInMain = () => page.evaluate(() => document.activeElement?.closest('main') !== null);
    expect(await isInMain()).toBe(true);
  });

  it('marks the operation in view in its contents, however the reader gets there', async () => {
    const { page } = await openDocs(browser, service.url);
    const current = page.locator('.sidebar [aria-current]');
    for (const { operationId } of await operations()) {
      await page
        .locator(`h3#${operationId}`)
        .evaluate((heading) => scrollTo(0, scrollY + heading.getBoundingClientRect().top));
      await expect.poll(() => current.getAttribute('href')).toBe(`#${operationId}`);
    }
  });

  it('follows the color scheme, legibly', async () => {
    const { page, faults } = await openDocs(browser, service.url);
    await authorize(page, TOKEN);
    await send(page, await operation(page, 'createPlant'));
    await openAll(page);
    await expectLegible(page);
    expect(faults).toEqual([]);
  });
});

describe('on paper', () => {
  it('has dark text on white, all of its code, and nothing to click', async () => {
    const { page } = await openDocs(browser, service.url, {
      viewport: { width: 720, height: 1000 },
      colorScheme: 'light',
    });
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('.copy:visible, .try:visible, .sidebar:visible').count()).toBe(0);
    const code = page.locator('.samples pre').first();
    const { color, backgroundColor } = await code.evaluate((pre) => getComputedStyle(pre));
    expect(color).toBe(await page.locator('body').evaluate((body) => getComputedStyle(body).color));
    expect(backgroundColor).toBe('rgba(0, 0, 0, 0)');
    expect(await page.evaluate(outsideTheScreen)).toEqual([]);
    await expectLegible(page);
  });
});

describe.each(Object.entries(UNUSABLE_STORAGE))(
  'where the storage of a browser %s',
  (_name, script) => {
    it('the docs page works, and keeps the token until it is left', async () => {
      const { page, faults } = await openDocs(browser, service.url, {}, script);
      await enterToken(page, TOKEN);
      await page.getByText('This page keeps it until you leave it').waitFor();
      expect(await page.getByText('This browser keeps it').isVisible()).toBe(false);
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
      expect((await send(page, await operation(page, 'createPlant'))).status).toBe('200');
      await choose(page, 'Go');
      expect(await partOf(page, 'getPlant').locator('[data-sample="Go"]').isVisible()).toBe(true);
      await page.getByRole('searchbox').fill('remove a plant');
      await page.keyboard.press('Enter');
      await expect.poll(() => page.url()).toBe(`${service.url}/docs#deletePlant`);
      expect(faults).toEqual([]);
      await forgetToken(page);
      expect((await send(page, await operation(page, 'createPlant'))).status).toBe('401');
    });

    it('Swagger UI works', async () => {
      const { page, faults } = await openDocs(browser, service.url, {}, script);
      await page.goto(`${service.url}/docs/swagger-ui`);
      await enterTokenInSwaggerUi(page);
      await page.getByRole('button', { name: 'Close' }).click();
      await page.locator('[id$="-listPlants"] .opblock-summary-control').click();
      await page.getByRole('button', { name: 'Try it out' }).click();
      const [response] = await Promise.all([
        page.waitForResponse((candidate) => candidate.url().includes('/plants')),
        page.getByRole('button', { name: 'Execute' }).click(),
      ]);
      expect(response.status()).toBe(200);
      expect(faults).toEqual([]);
    });
  },
);

describe('without JavaScript', () => {
  it('the page says so, legibly', async () => {
    const { page } = await openDocs(browser, service.url, { javaScriptEnabled: false });
    expect(await page.locator('noscript').innerText()).toContain('needs JavaScript');
    const limits = page.locator('.fields', { hasText: '9223372036854775807' });
    expect(await limits.first().isVisible()).toBe(true);
    expect(await page.locator('.samples pre').first().isVisible()).toBe(true);
    await page.locator('.operation').first().locator('[data-language="Python"]').click();
    expect(await page.locator('[data-sample="Python"]').last().isVisible()).toBe(true);
    expect(await page.getByText('Try it').first().isVisible()).toBe(false);
    await expectLegible(page);
  });
});

// They are in the documents, and have no scripts and no style sheet but their own.
describe.skipIf(EXAMPLE !== undefined)('the pictures in the documents', () => {
  it('have labels of at least 11 pixels on a phone, and fit a dark page', async () => {
    const context = await browser.newContext({ colorScheme: 'dark' });
    const page = await context.newPage();
    const pictures = (await readdir('docs')).filter((name) => name.endsWith('.svg'));
    expect(pictures).toHaveLength(5);
    for (const name of pictures) {
      await page.goto(pathToFileURL(join('docs', name)).href);
      // Chromium shows the beginning of what is not well-formed.
      expect(await page.locator('parsererror').count(), `the faults of ${name}`).toBe(0);
      const { width, size, lightness } = await page.evaluate(() => {
        const drawing = document.querySelector('svg')!;
        const sizes = [...drawing.querySelectorAll('text')].map((text) =>
          Number.parseFloat(getComputedStyle(text).fontSize),
        );
        const background = getComputedStyle(drawing.querySelector('rect')!).fill;
        return {
          width: drawing.viewBox.baseVal.width,
          size: Math.min(...sizes),
          lightness: Math.max(...background.match(/\d+/g)!.map(Number)),
        };
      });
      // Of 390 pixels, 16 at each side are a margin.
      const isLegible = (size / width) * Math.min(width, 358) >= 11;
      const isDark = lightness < 60;
      expect({ name, isLegible, isDark }).toEqual({ name, isLegible: true, isDark: true });
    }
  });
});

/** Texts that are hard to read, in both schemes. */
async function expectLegible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const faint = await page.evaluate(faintTexts);
    expect({ colorScheme, faint }).toEqual({ colorScheme, faint: [] });
  }
}

/** A folder in which programs can import the project's client. */
async function projectWithClient(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'samples-'));
  const client = resolve('dist-client');
  await mkdir(join(folder, 'node_modules/@plant-store'), { recursive: true });
  await symlink(client, join(folder, 'node_modules/@plant-store/client'));
  return folder;
}

/** What a code sample prints. */
async function run(language: Language, code: string, cwd: string): Promise<string> {
  const file = join(cwd, 'sample.go');
  if (language === 'Go') await writeFile(file, code);
  const [program, ...options] = {
    curl: ['bash', '-c', code],
    TypeScript: [process.execPath, '--input-type=module', '--eval', code],
    Python: ['python3', '-c', code],
    Go: ['go', 'run', file],
  }[language];
  return (await promisify(execFile)(program!, options, { cwd })).stdout;
}

/** All texts in a value of JSON. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.startsWith('{') ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}

/** How much of the page has moved so far. Runs in the browser. */
function layoutShift(): number {
  const observer = new PerformanceObserver(() => undefined);
  observer.observe({ type: 'layout-shift', buffered: true });
  return observer
    .takeRecords()
    .reduce((sum, entry) => sum + (entry as PerformanceEntry & { value: number }).value, 0);
}

async function openAll(page: Page): Promise<void> {
  await page
    .locator('details')
    .evaluateAll((all) => all.forEach((one) => ((one as HTMLDetailsElement).open = true)));
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
