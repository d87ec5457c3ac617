import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

/* A release has two versions, which need not be equal: of the service and its client, and of the packages. */

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly license: string;
  readonly engines: object;
  readonly files?: readonly string[];
  readonly publishConfig?: object;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const SCOPE = '@resource-service/';

const read = (file: string) => readFile(file, 'utf8');
const manifestOf = async (folder: string) =>
  JSON.parse(await read(`${folder}/package.json`)) as Manifest;

const service = await manifestOf('.');
const folders = (await readdir('packages')).map((name) => `packages/${name}`);
const packages = await Promise.all(folders.map(manifestOf));
const { version: packagesVersion } = await manifestOf('packages/framework');

/** The packages of this project that another one depends on, with their ranges. */
function ownDependencies(manifest: Manifest): [string, string][] {
  const { dependencies, devDependencies, peerDependencies } = manifest;
  const all = Object.entries({ ...dependencies, ...devDependencies, ...peerDependencies });
  return all.filter(([name]) => name.startsWith(SCOPE));
}

describe('the version of the service', () => {
  it('is the version of the newest section of the changelog', async () => {
    const [, newest] = /^## \[(\d.*)\] - \d{4}-\d\d-\d\d$/m.exec(await read('CHANGELOG.md')) ?? [];
    expect(newest).toBe(service.version);
  });

  it.each(['overlays/production', 'flat'])('is the tag of the image in %s', async (name) => {
    const { images } = parse(await read(`deploy/kubernetes/${name}/kustomization.yaml`)) as {
      readonly images: readonly { readonly newTag: string }[];
    };
    expect(images.map(({ newTag }) => newTag)).toEqual([service.version]);
  });

  it('is the tag of the image in the documentation', async () => {
    const tags = (await read('docs/kubernetes.md')).match(/(?<=\/plant-store:)\d[\w.]+/g);
    expect(new Set(tags)).toEqual(new Set([service.version]));
  });

  it('is not in the OpenAPI document, which has the version of the published interface', async () => {
    const versionIn = async (file: string) =>
      (JSON.parse(await read(file)) as { readonly info: { readonly version: string } }).info
        .version;
    expect(await versionIn('openapi.json')).toBe(await versionIn('contract/plant-store.json'));
  });
});

describe('the version of the packages', () => {
  it('is the same of all, also where one depends on another', () => {
    expect(packages.map(({ name, version }) => [name, version])).toEqual(
      folders.map((folder) => [folder.replace('packages/', SCOPE), packagesVersion]),
    );
    const ranges = [service, ...packages].flatMap(ownDependencies);
    expect(ranges.length).toBeGreaterThan(4);
    expect(ranges.filter(([, range]) => range !== packagesVersion)).toEqual([
      // No workspaces, which npm installs with `--omit=dev`, too.
      ['@resource-service/conformance', 'file:packages/conformance'],
      ['@resource-service/local', 'file:packages/local'],
    ]);
  });

  it('is the version that new services depend on', async () => {
    const template = ownDependencies(await manifestOf('packages/create-service/template'));
    expect(template.map(([, range]) => range)).toEqual(template.map(() => `^${packagesVersion}`));
    // The examples import no webhooks.
    const imported = packages.filter(({ name }) => !name.endsWith('/webhooks'));
    const packed = imported.map(({ name }) => {
      const file = `${name.slice(1).replace('/', '-')}-${packagesVersion}.tgz`;
      return [name, `file:packages/${file}`];
    });
    for (const example of ['examples/tool-library', 'examples/bookings']) {
      const found = Object.fromEntries(ownDependencies(await manifestOf(example)));
      expect(found).toEqual(Object.fromEntries(packed));
    }
  });
});

it('the lockfile has both versions', async () => {
  const lock = JSON.parse(await read('package-lock.json')) as {
    readonly version: string;
    readonly packages: Readonly<Record<string, Manifest>>;
  };
  expect([lock.version, lock.packages['']?.version]).toEqual([service.version, service.version]);
  for (const [folder, { version }] of Object.entries(lock.packages)) {
    if (folder.startsWith('packages/'))
      expect([folder, version]).toEqual([folder, packagesVersion]);
  }
});

describe.each(packages)('$name', ({ name, ...manifest }) => {
  it('can be published, with its licence and its page', async () => {
    expect(manifest).toMatchObject({
      license: service.license,
      engines: service.engines,
      publishConfig: { access: 'public' },
    });
    expect(manifest.private).toBeUndefined();
    expect(manifest.files).not.toContain('test');
    const folder = name.replace(SCOPE, 'packages/');
    for (const file of ['LICENSE', 'README.md']) await access(`${folder}/${file}`);
  });
});

it.each([
  ['v0.0.1', `v0.0.1 is not the tag of version ${service.version}`],
  ['1', '1 is not the tag of version'],
])('nothing is published for the tag %s', async (tag, message) => {
  await expect(promisify(execFile)('.ci/release', [tag])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining(message) as string,
  });
});

describe('a release', () => {
  /** What would reach others: they write down how they are called. */
  const PROGRAMS: Readonly<Record<string, string>> = {
    docker: '',
    gh: '',
    git: 'echo 0123abc',
    npm: `case $1 in
      pack) cp "../a-$(node --print 'require("./package.json").version').tgz" "\${@: -1}" ;;
      view) cat ../published 2> /dev/null || { echo 'npm error code E404' >&2 && exit 1; } ;;
      publish) [[ ! -e ../refused ]] || exit 1
        # As npm 11 and newer.
        [[ "$*" != *-rc.* || "$*" == *' --tag '* ]] || exit 1 ;;
    esac`,
  };
  let folder: string;
  let tarball: Buffer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'release-'));
    const files = {
      'clone/dist/sbom.cdx.json': '{}',
      'clone/deploy/kubernetes/service.yaml': '',
    };
    for (const [file, text] of Object.entries(files)) {
      await mkdir(join(folder, file, '..'), { recursive: true });
      await writeFile(join(folder, file), text);
    }
    await cp('.ci', join(folder, 'clone/.ci'), { recursive: true });
    await mkdir(join(folder, 'bin'));
    for (const [name, commands] of Object.entries(PROGRAMS)) {
      const text = `#!/usr/bin/env bash\necho "${name} $*" >> ../calls\n${commands}\n`;
      await writeFile(join(folder, 'bin', name), text, { mode: 0o755 });
    }
  });

  beforeEach(async () => {
    for (const name of ['calls', 'published', 'refused']) {
      await rm(join(folder, name), { force: true });
    }
    await make('1.0.0');
  });

  afterAll(() => rm(folder, { recursive: true }));

  /** A clone of this version, and its packed package. */
  async function make(version: string): Promise<void> {
    const files = {
      'clone/package.json': JSON.stringify({ version }),
      'clone/CHANGELOG.md': `## [${version}] - 2026-01-01\n\n- All.\n`,
      'package/package.json': JSON.stringify({ name: '@tools/a', version }),
    };
    await mkdir(join(folder, 'package'), { recursive: true });
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
    await promisify(execFile)('tar', ['-czf', `a-${version}.tgz`, 'package'], { cwd: folder });
    tarball = await readFile(join(folder, `a-${version}.tgz`));
  }

  async function publish(version = '1.0.0'): Promise<string> {
    const PATH = `${join(folder, 'bin')}:${process.env['PATH']}`;
    const env = { ...process.env, PATH, IMAGE: 'ghcr.io/Some-Team/Tools' };
    await promisify(execFile)('clone/.ci/release', [`v${version}`], { cwd: folder, env });
    return read(join(folder, 'calls'));
  }

  it('publishes an image with a name in lower case, and a package with a new version', async () => {
    const calls = await publish();
    expect(calls).toContain('docker push ghcr.io/some-team/tools:1.0.0\n');
    expect(calls).toMatch(/^npm publish .*a-1\.0\.0\.tgz$/m);
    expect(calls).not.toMatch(/--tag next|--prerelease/);
    expect(calls).toContain('gh release create v1.0.0');
  });

  it.each(['1.3.0-rc.1', '2.0.0-alpha'])(
    'makes %s the newest version for nobody',
    async (version) => {
      await make(version);
      const calls = await publish(version);
      expect(calls).toMatch(/^npm publish (?!.*--dry-run).*--tag next .*\.tgz$/m);
      expect(calls).toMatch(/^gh release create .* --prerelease/m);
      expect(calls.match(/^docker push .*/gm)).toEqual([
        `docker push ghcr.io/some-team/tools:${version}`,
      ]);
    },
  );

  it('publishes nothing if npm would refuse a package', async () => {
    await writeFile(join(folder, 'refused'), '');
    await expect(publish()).rejects.toMatchObject({ code: 1 });
    expect(await read(join(folder, 'calls'))).not.toMatch(
      /^(docker push|gh|npm publish (?!.*--dry-run))/m,
    );
  });

  it('leaves a package alone that is published as it is', async () => {
    const integrity = createHash('sha512').update(tarball).digest('base64');
    await writeFile(join(folder, 'published'), `sha512-${integrity}\n`);
    const calls = await publish();
    expect(calls).not.toContain('npm publish');
    expect(calls).toContain('gh release create v1.0.0');
  });

  it('publishes nothing if a package has changed without a new version', async () => {
    await writeFile(join(folder, 'published'), 'sha512-other\n');
    await expect(publish()).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('@tools/a@1.0.0 is published with another content') as string,
    });
    expect(await read(join(folder, 'calls'))).not.toMatch(/^(docker|gh|npm publish)/m);
  });
});

describe('the workflow of a release', async () => {
  interface Job {
    readonly needs?: string;
    readonly permissions: object;
    readonly steps: readonly {
      readonly uses?: string;
      readonly run?: string;
      readonly with?: object;
    }[];
  }
  const { permissions, jobs } = parse(await read('.github/workflows/release.yml')) as {
    readonly permissions: object;
    readonly jobs: { readonly check: Job; readonly publish: Job };
  };

  it('lets a job write only after the commit was checked, and keeps no token in the clone', () => {
    expect(permissions).toEqual({});
    expect(jobs.check.permissions).toEqual({ actions: 'read', contents: 'read' });
    expect(jobs.publish.needs).toBe('check');
    for (const { steps } of Object.values(jobs)) {
      const checkout = steps.find(({ uses }) => uses?.startsWith('actions/checkout@'));
      expect(checkout?.with).toMatchObject({ 'persist-credentials': false });
    }
    const commands = jobs.publish.steps.flatMap(({ run }) => run ?? []);
    expect(commands.filter((run) => run.startsWith('npm ci'))).toEqual(['npm ci --ignore-scripts']);
  });
});
