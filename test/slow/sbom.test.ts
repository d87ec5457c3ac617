import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DIST } from '../support/application.js';

interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly { readonly expression: string }[];
}

interface Sbom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
}

interface Package {
  readonly name?: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** The packages of this project whose code the bundle contains. */
const OWN = ['api-reference', 'changes', 'client', 'command', 'framework', 'webhooks'];

const TEXT = readFileSync(`${DIST}/sbom.cdx.json`, 'utf8');
const { metadata, components } = JSON.parse(TEXT) as Sbom;
const NAMED = new Set(components.map(({ name, version }) => `${name}@${version}`));

function read(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function codeIn(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.js'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
}

const { version } = read('package.json') as Package;
// The dependencies of `client` are those of the clients that it writes.
const dependencies = [
  '.',
  ...OWN.filter((name) => name !== 'client').map((name) => `packages/${name}`),
].flatMap((folder) => Object.entries((read(`${folder}/package.json`) as Package).dependencies));
const isOwn = ([name]: readonly [string, string]) => name.startsWith('@resource-service/');
/** The packages with code that are not part of this project. */
const FOREIGN = [
  ...new Set(
    dependencies
      .filter((one) => !isOwn(one))
      .map(([name]) => name)
      .filter((name) => !name.startsWith('@types/')),
  ),
];

/** Loads the packages from their folders, as a program does that is not bundled, and prints the files of CommonJS. */
const LOAD = `
  import { createRequire } from 'node:module';
  import 'reflect-metadata';
  for (const name of process.argv.slice(1)) await import(name);
  console.log(JSON.stringify(Object.keys(createRequire(import.meta.url).cache)));`;

/** The package of a file, such as `express@5.3.0`. */
function packageOf(file: string): string {
  const folder = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? '';
  const installed = read(`${folder}/package.json`) as Package & { readonly name: string };
  return `${installed.name}@${installed.version}`;
}

describe('the list of packages in the bundle', () => {
  it('has each dependency, with its version', () => {
    const missing = FOREIGN.filter(
      (name) => !NAMED.has(packageOf(`./node_modules/${name}/package.json`)),
    );
    expect(missing).toEqual([]);
    const own = new Set(dependencies.filter(isOwn).map((one) => one.join('@')));
    expect(own.size).toBe(OWN.length);
    for (const name of own) expect(NAMED).toContain(name);
    expect(metadata.component).toMatchObject({ name: 'plant-store', version });
  });

  it('has each package that these load', async () => {
    const args = ['--input-type=module', '--eval', LOAD, ...FOREIGN];
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 });
    const loaded = new Set((JSON.parse(stdout) as readonly string[]).map(packageOf));
    expect(loaded.size).toBeGreaterThan(60);
    expect([...loaded].filter((name) => !NAMED.has(name))).toEqual([]);
  });

  it('has only packages of the lockfile, each once, with a licence that permits their use', () => {
    const { packages } = read('package-lock.json') as {
      readonly packages: Readonly<Record<string, Package>>;
    };
    const locked = new Set(
      Object.entries(packages).map(
        ([path, { name, version: one }]) =>
          `${name ?? path.slice(path.lastIndexOf('node_modules/') + 13)}@${one}`,
      ),
    );
    expect([...NAMED].filter((name) => !locked.has(name))).toEqual([]);
    expect(NAMED.size).toBe(components.length);
    for (const { licenses } of components) {
      expect(licenses[0]?.expression).toMatch(
        /^(MIT|ISC|0BSD|BSD-3-Clause|Apache-2\.0|BlueOak-1\.0\.0)$/,
      );
    }
  });

  it('has no package whose module the application does not import', async () => {
    await promisify(execFile)(process.execPath, ['bundle.js', 'examples/gardens']);
    const { components: others } = read('dist-gardens/sbom.cdx.json') as Sbom;
    const names = others.map(({ name }) => name);
    expect(names).toContain('@resource-service/framework');
    expect(names).not.toContain('@resource-service/webhooks');
    // Nor a byte of it: the name of its table.
    expect(codeIn(DIST)).toContain('webhook_deliveries');
    expect(codeIn('dist-gardens')).not.toContain('webhook_deliveries');
  });

  it('names no host but that of its schema, and no folder', () => {
    expect(TEXT.match(/\w+:\/\/[^"]*/g)).toEqual([
      'http://cyclonedx.org/schema/bom-1.6.schema.json',
    ]);
    expect(TEXT).not.toContain('node_modules');
    for (const { name, purl } of components) {
      expect(purl).toMatch(`pkg:npm/${name.replace('@', '%40')}@`);
    }
  });
});
