import { execFile } from 'node:child_process';
import { access, readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
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
function ownDependencies({ dependencies, devDependencies }: Manifest): [string, string][] {
  const all = Object.entries({ ...dependencies, ...devDependencies });
  return all.filter(([name]) => name.startsWith(SCOPE));
}

describe('the version of the service', () => {
  it('is that of the newest section of the changelog', async () => {
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

  it('is not that of the interface, which the document has', async () => {
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
    expect(ranges.filter(([, range]) => range !== packagesVersion)).toEqual([]);
  });

  it('is that of new services', async () => {
    const template = ownDependencies(await manifestOf('packages/create-service/template'));
    expect(template.map(([, range]) => range)).toEqual(template.map(() => `^${packagesVersion}`));
    const example = ownDependencies(await manifestOf('examples/tool-library'));
    expect(Object.fromEntries(example)).toEqual(
      Object.fromEntries(
        packages.map(({ name }) => {
          const file = `${name.slice(1).replace('/', '-')}-${packagesVersion}.tgz`;
          return [name, `file:packages/${file}`];
        }),
      ),
    );
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
