import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { buildOf } from '../../src/config/identity.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'build-of-'));
  await mkdir(join(folder, 'build'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

it.each([
  ['without', ''],
  ['with', '\uFEFF'],
])('the version of a build is read from a package.json %s a byte order mark', async (_, mark) => {
  await writeFile(join(folder, 'package.json'), `${mark}{"version":"1.2.3","gitHead":"abc"}`);
  const build = buildOf(pathToFileURL(join(folder, 'build', 'main.js')).href);
  expect(build).toMatchObject({ version: '1.2.3', revision: 'abc' });
});
