import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { execute } from './execute.js';

/* What each package brings along: it is alone in a folder, with what it depends on. */

interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

async function manifestOf(name: string): Promise<Manifest> {
  return JSON.parse(await readFile(`packages/${name}/package.json`, 'utf8')) as Manifest;
}

/** The package, and those of this project that it depends on. */
async function closureOf(name: string): Promise<readonly string[]> {
  const { dependencies, peerDependencies } = await manifestOf(name);
  const own = Object.keys({ ...dependencies, ...peerDependencies }).filter((each) =>
    each.startsWith('@resource-service/'),
  );
  const others = await Promise.all(own.map((each) => closureOf(each.split('/')[1]!)));
  return [...new Set([name, ...others.flat()])];
}

/** What a package asks its users to install beside it. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  client: ['openapi-typescript@^7.13.0'],
  // For its entry `testing`.
  framework: ['@nestjs/testing@^12.1.1'],
};

/** What a package imports only if it is there, and otherwise from the service. */
const IF_INSTALLED: Readonly<Record<string, readonly string[]>> = {
  framework: ['@resource-service/local'],
};

const COMPILER =
  `--noEmit --strict --exactOptionalPropertyTypes --skipLibCheck false --skipDefaultLibCheck
  --target ES2023 --lib ES2023 --module nodenext --types node`.split(/\s+/);

/** Has what compiles the imports, once for all packages. */
let parent: string;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'packages-'));
  await install(parent, ['typescript@~5.9', '@types/node@^20.19.43']);
});

afterAll(() => rm(parent, { recursive: true, force: true }));

async function install(folder: string, packages: readonly string[]): Promise<void> {
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const words = ['install', '--no-audit', '--no-fund', '--ignore-scripts'];
  await execute('npm', [...words, ...packages], folder);
}

describe.each([
  'api-reference',
  'framework',
  'changes',
  'webhooks',
  'client',
  'command',
  'local',
  'conformance',
])('%s', (name) => {
  let folder: string;

  beforeAll(async () => {
    folder = join(parent, name);
    await mkdir(folder);
    const { version, exports } = await manifestOf(name);
    const ofThisProject = (await closureOf(name)).map((each) =>
      join(inject('packed'), `resource-service-${each}-${version}.tgz`),
    );
    await install(folder, [...ofThisProject, ...(BESIDE[name] ?? [])]);
    const entries = Object.keys(exports).filter((entry) => entry !== './package.json');
    const imports = entries.map(
      (entry, n) => `import * as entry${n} from '@resource-service/${name}${entry.slice(1)}';\n`,
    );
    const all = entries.map((_, n) => `Object.keys(entry${n})`).join(', ');
    const program = `${imports.join('')}console.log(JSON.stringify([${all}]));\n`;
    await writeFile(join(folder, 'imports.ts'), program);
    await writeFile(join(folder, 'imports.js'), program);
  });

  it('exports what Node.js can import', async () => {
    const exported = JSON.parse(await execute('node', ['imports.js'], folder)) as string[][];
    expect(exported.filter((names) => names.length === 0)).toEqual([]);
  });

  it('exports types that compile, with the types of all its dependencies', async () => {
    await execute(join(parent, 'node_modules/.bin/tsc'), [...COMPILER, 'imports.ts'], folder);
  });

  it('lists every package that it imports, as strict package managers require', async () => {
    const { dependencies, peerDependencies } = await manifestOf(name);
    const place = join('packages', name, 'src');
    const files = await readdir(place, { recursive: true });
    const sources = await Promise.all(
      files
        .filter((file) => /\.[jt]s$/.test(file))
        .map((file) => readFile(join(place, file), 'utf8')),
    );
    const code = sources
      .join('\n')
      .replaceAll(/^(import|export) type [^;]*;|typeof import\([^)]*\)|\/\*[^]*?\*\//gm, '');
    const imports = code.matchAll(
      /(?:from |import |import\()'((?:@[\w-]+\/)?[a-z][\w-]*)(?=[/'])/g,
    );
    const imported = [...new Set(Array.from(imports, ([, found]) => found!))];
    const listed = { ...dependencies, ...peerDependencies };
    expect(imported.filter((each) => !(each in listed))).toEqual(IF_INSTALLED[name] ?? []);
  });

  it('has a licence and a page whose links work', async () => {
    const installed = join(folder, 'node_modules/@resource-service', name);
    expect(await readdir(installed)).toEqual(expect.arrayContaining(['LICENSE', 'README.md']));
    const page = await readFile(join(installed, 'README.md'), 'utf8');
    expect(page.match(/\]\((?!https:|#)[^)]*\)/g)).toBeNull();
  });
});
