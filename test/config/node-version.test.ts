import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isWithin } from '../../packages/framework/src/config/node-version.js';

const { engines, scripts } = JSON.parse(await readFile('package.json', 'utf8')) as {
  engines: { node: string };
  scripts: Record<string, string>;
};

it.each([
  ['20.19.0 20.20.2 22.13.0 22.22.3 24.11.0 24.11.1 25.0.0 100.0.0', true],
  ['8.17.0 18.20.8 20.18.3 21.7.3 22.12.9 23.11.1 24.10.9', false],
])('of the versions of Node.js, these are supported: %s: %s', (versions, isSupported) => {
  for (const version of versions.split(' ')) {
    expect([version, isWithin(version, engines.node)]).toEqual([version, isSupported]);
  }
});

/** The exit code of a program in Node.js, with what it prints. */
function run(cwd: string, ...args: readonly string[]): Promise<unknown> {
  return new Promise((settle) => {
    execFile(process.execPath, args, { cwd }, (error, stdout, stderr) =>
      settle([error?.code, stdout, stderr]),
    );
  });
}

describe('an old Node.js', () => {
  let folder: string;
  let old: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-old-'));
    old = join(folder, 'old.cjs');
    await writeFile(
      old,
      `const { versions } = process;
       Object.defineProperty(process, 'versions', { value: { ...versions, node: '18.20.8' } });`,
    );
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each([
    ['dist/main.js', false],
    ['dist/cli/migration.js', false],
    ['dist/cli/plant-store.js', false],
    ['packages/framework/src/config/node-version.js', true],
    ['packages/framework/src/cli/start.js', true],
  ])('makes %s print the required version, and nothing else', async (file, isOfNpm) => {
    // npm runs its scripts in the folder of the project.
    const cwd = isOfNpm ? resolve('.') : folder;
    const line = `plant-store: Node.js 18.20.8 is not supported, ${engines.node} is required\n`;
    expect(await run(cwd, '--require', old, resolve(file), 'run')).toEqual([1, '', line]);
    expect(await readdir(folder)).toEqual(['old.cjs']);
  });

  it('makes the command that creates a service print it, too', async () => {
    const command = resolve('packages/create-service/src/create-service.js');
    const line = `create-service: Node.js 18.20.8 is not supported, ${engines.node} is required\n`;
    expect(await run(folder, '--require', old, command, 'shop')).toEqual([1, '', line]);
    expect(await readdir(folder)).toEqual(['old.cjs']);
    const other = await import('../../packages/create-service/src/node-version.js');
    expect(String(other.isWithin)).toBe(String(isWithin));
  });

  it('is asked to load nothing of its own before', async () => {
    for (const command of ['framework/src/cli/start.js', 'create-service/src/create-service.js']) {
      const source = await readFile(join('packages', command), 'utf8');
      const files = source.matchAll(/^import .*'(\..*)';$/gm);
      expect(Array.from(files, ([, file]) => basename(file!))).toEqual(['node-version.js']);
    }
  });

  it('is refused before the build', () => {
    expect(scripts['build']).toMatch(
      /^node packages\/framework\/src\/config\/node-version\.js && /,
    );
  });
});

// With the setting `ignore-scripts`, npm does not run them, and pnpm never does.
it.each(['.', 'packages/create-service/template', 'examples/tool-library', 'examples/bookings'])(
  'no script of %s is run only because of another one',
  async (project) => {
    const manifest = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    expect(Object.keys(manifest.scripts)).toContain('start');
    expect(Object.keys(manifest.scripts).filter((name) => /^(pre|post)/.test(name))).toEqual([]);
  },
);

describe('the build', () => {
  let clone: string;

  beforeEach(async () => {
    clone = await mkdtemp(join(tmpdir(), 'plant-store-clone-'));
    for (const name of ['bundle.js', 'sbom.js', 'package.json']) await cp(name, join(clone, name));
  });

  afterEach(() => rm(clone, { recursive: true }));

  it('says in one line that packages are not installed', async () => {
    // As with NODE_ENV=production, which makes npm leave out the bundler.
    const line =
      'plant-store: the packages are not installed: run `npm ci --include=dev --include=optional` first\n';
    expect(await run(clone, 'bundle.js')).toEqual([1, '', line]);
  });

  it('says in one line that it cannot write its output', async () => {
    await symlink(resolve('node_modules'), join(clone, 'node_modules'));
    // In place of a folder that belongs to another user, in which root may write.
    await writeFile(join(clone, 'dist'), '');
    const line =
      'plant-store: cannot write the build to dist (EEXIST): run `npm run build` as the owner first\n';
    expect(await run(clone, 'bundle.js')).toEqual([1, '', line]);
  });
});
