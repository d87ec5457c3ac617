import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchBrowser } from '../support/browser.js';
import { docsPage, firstScreen, PICTURES, stateOf, withState } from '../support/readme-picture.js';

/** `npm run docs:pictures` sets it to the folder of the pictures that the README shows. */
const FOLDER = process.env['PICTURES'] ?? 'screenshots';

/** Where a local start serves the page. */
const ORIGIN = 'http://localhost:3000';

let page: Page;

beforeAll(async () => {
  const browser = await launchBrowser();
  page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
});

afterAll(() => page.context().browser()!.close());

it('the pictures in the README are taken of the page at the address of a local start, light and dark', async () => {
  const files = await docsPage();
  await page.route(`${ORIGIN}/**`, async (route) => {
    const file = files.get(new URL(route.request().url()).pathname.slice(1));
    if (file === undefined) await route.fulfill({ status: 404 });
    else await route.fulfill({ contentType: file.type, body: await file.content() });
  });
  await page.goto(`${ORIGIN}/docs`);
  await page.locator('.copy').first().waitFor();
  await mkdir(FOLDER, { recursive: true });
  const state = await firstScreen(files);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const picture = withState(await page.screenshot(), state);
    // A browser can read it.
    const address = `data:image/png;base64,${picture.toString('base64')}`;
    const width = await page.evaluate(async (src) => {
      const image = Object.assign(new Image(), { src });
      await image.decode();
      return image.naturalWidth;
    }, address);
    expect({ width, state: stateOf(picture) }).toEqual({ width: 1280, state });
    await writeFile(join(FOLDER, PICTURES[colorScheme]), picture);
  }
});

it.each(Object.values(PICTURES))('%s in the README shows the page as it is', async (name) => {
  const state = stateOf(await readFile(join('docs', name)));
  expect(state, `docs/${name} is out of date: run \`npm run docs:pictures\``).toBe(
    await firstScreen(await docsPage()),
  );
});

it('a picture is out of date when the version, a text of the first screen, or a style sheet has changed', async () => {
  const files = await docsPage();
  const changed = (name: string, from: string, to: string) => {
    const file = files.get(name)!;
    const content = async () => String(await file.content()).replace(from, to);
    return firstScreen(new Map([...files, [name, { ...file, content }]]));
  };
  const state = await firstScreen(files);
  expect(await changed('docs', ' · Service ', ' · Service 0')).not.toBe(state);
  expect(await changed('docs', 'Create a plant', 'Create the plant')).not.toBe(state);
  expect(await changed('docs/page.css', '#', '#0')).not.toBe(state);
  // What is further down is in no picture.
  expect(await changed('docs', '</html>', '')).toBe(state);
});
