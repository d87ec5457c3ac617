import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { linkPackages } from '../../../test/support/installed-packages.js';
import { execute } from './execute.js';
import { pack } from './packed.js';
import { startService } from './running-service.js';

/* A service that was made with the packages of the commit before, and gets today's. */

/** Of today's packages, whose versions may be the versions of the commit before. */
const NEXT = '99.0.0';

let folder: string;
let previous: string;
let next: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'upgrade-'));
  const clone = join(folder, 'clone');
  await execute('git', ['clone', '--quiet', '--no-checkout', '.', clone], '.');
  await execute('git', ['checkout', '--quiet', 'HEAD~1'], clone);
  await install(clone);
  previous = join(folder, 'previous');
  await pack(clone, previous);
  next = join(folder, 'next');
  await packNext();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Installs what the clone is built with: what is here, unless it needs other packages. */
async function install(clone: string): Promise<void> {
  const [needed, present] = await Promise.all(
    [clone, '.'].map((place) => readFile(join(place, 'package-lock.json'), 'utf8')),
  );
  if (needed !== present) {
    await execute('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], clone);
    return;
  }
  await linkPackages(clone);
  // The compiler takes what is compiled already, where the sources are as they were.
  for (const name of await readdir(join(clone, 'packages'))) {
    const build = join('packages', name, 'build');
    if (!existsSync(build)) continue;
    await cp(build, join(clone, build), { recursive: true, preserveTimestamps: true });
  }
}

/** Packs today's packages under the higher version. */
async function packNext(): Promise<void> {
  await mkdir(next);
  const packed = inject('packed');
  const { version } = JSON.parse(await readFile('packages/framework/package.json', 'utf8')) as {
    readonly version: string;
  };
  for (const name of await readdir(packed)) {
    const unpacked = await mkdtemp(join(folder, 'unpacked-'));
    await execute('tar', ['-xzf', join(packed, name), '-C', unpacked], folder);
    const file = join(unpacked, 'package/package.json');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replaceAll(`"${version}"`, `"${NEXT}"`));
    const tarball = join(next, name.replace(version, NEXT));
    await execute('tar', ['-czf', tarball, '-C', unpacked, 'package'], folder);
  }
}

/** What the changelog asks of a service without it: the types of tests name it. */
async function installTesting(root: string): Promise<void> {
  if ((await readFile(join(root, 'package.json'), 'utf8')).includes('"@nestjs/testing"')) return;
  const words = ['install', '--save-dev', '--no-audit', '--no-fund', '@nestjs/testing'];
  await execute('npm', words, root);
}

/** What the changelog asks of a service that does not list the guard, the pipe and the filter. */
async function listEnhancers(root: string): Promise<void> {
  const file = join(root, 'src/app.module.ts');
  const text = await readFile(file, 'utf8');
  if (text.includes('APP_GUARD')) return;
  const changed = text
    .replace(
      'import { FrameworkModule }',
      `import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuthGuard, DtoPipe, ErrorFilter, FrameworkModule }`,
    )
    .replace(
      '})\nexport class AppModule',
      `  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class AppModule`,
    );
  await writeFile(file, changed);
}

/** What the changelog asks of a service whose records of changes come from the framework. */
async function importChanges(root: string): Promise<void> {
  const edit = async (file: string, change: (text: string) => string) => {
    const path = join(root, 'src', file);
    await writeFile(path, change(await readFile(path, 'utf8')));
  };
  const [migration] = await readdir(join(root, 'src/tool-changes/migrations'));
  await edit(`tool-changes/migrations/${migration}`, (text) =>
    text.replace(`'@resource-service/framework'`, `'@resource-service/changes/migrations'`),
  );
  await edit('tool-changes/tool-change.entity.ts', (text) =>
    text.replace(`'@resource-service/framework'`, `'@resource-service/changes'`),
  );
  await edit('tool-changes/tool-changes.module.ts', (text) =>
    text
      .replace(
        'import { FeedModule, historyFunctions, ResourceModule }',
        `import { FeedModule } from '@resource-service/changes';\nimport { ResourceModule }`,
      )
      .replace(/ *functions: historyFunctions.*\n *privileges: .*\n/, ''),
  );
  await edit('tools/tools.repository.ts', (text) =>
    text.includes('recordChanges')
      ? text
      : text
          .replace(
            'import { Injectable }',
            `import { recordChanges } from '@resource-service/changes';
import type { Feed } from '@resource-service/changes';
import { Injectable }`,
          )
          .replace(/GeneratedIdRepository<(\w+), (\w+)>/, 'GeneratedIdRepository<$1, $2, Feed>')
          .replace(
            /changes: \{ record: (\w+), member: ('\w+') \}/,
            'changes: recordChanges($1, $2)',
          ),
  );
}

it('runs, has its rows and its record of changes, and passes its tests', async () => {
  const tarball = (await readdir(previous)).find((name) => name.includes('create-service'))!;
  const command = ['--yes', '--package', join(previous, tarball), 'create-service'];
  const words = ['tool-library', 'tool', 'tools', '--changes', '--packages', previous];
  await execute('npx', [...command, ...words], folder);
  const root = join(folder, 'tool-library');

  const before = await startService(root);
  const create = (url: string, token: string, name: string) =>
    fetch(`${url}/tools`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name }),
    });
  const created = await create(before.url, before.token, 'Hammer');
  expect([created.status, await created.json()]).toEqual([201, { id: 1, name: 'Hammer' }]);
  await before.stop();

  await rm(join(root, 'packages'), { recursive: true });
  await cp(next, join(root, 'packages'), { recursive: true });
  const tarballs = (await readdir(next)).map((name) => `./packages/${name}`);
  await execute('npm', ['install', '--no-audit', '--no-fund', ...tarballs], root);
  const ofThisProject = (
    await execute('npm', ['ls', '--all', '--parseable', '--long'], root)
  ).match(/(?<=@resource-service\/)[\w-]+@[\d.]+/g);
  expect(ofThisProject).toContain(`framework@${NEXT}`);
  expect(ofThisProject?.filter((name) => !name.endsWith(`@${NEXT}`))).toEqual([]);

  await installTesting(root);
  await listEnhancers(root);
  await importChanges(root);
  const after = await startService(root);
  try {
    const read = async (path: string) =>
      (
        await fetch(`${after.url}${path}`, { headers: { Authorization: `Bearer ${after.token}` } })
      ).json();
    expect(await read('/tools/1')).toEqual({ id: 1, name: 'Hammer' });
    expect(await (await create(after.url, after.token, 'Saw')).json()).toEqual({
      id: 2,
      name: 'Saw',
    });
    expect(await read('/tool-changes')).toMatchObject([{ id: 1 }, { id: 2 }]);
  } finally {
    await after.stop();
  }
  await execute('npm', ['run', 'types'], root);
  await execute('npm', ['test'], root);
});
