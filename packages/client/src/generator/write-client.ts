import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { OpenApiDocument } from './document.js';
import { mainFile } from './main-file.js';
import { planOf } from './names.js';
import type { ClientIdentity, Plan } from './names.js';
import { readmeFile } from './readme-file.js';
import { generatedFile } from './generated-file.js';
import type { ErrorKind } from './generated-file.js';
import { installedPackage, typesFile } from './types-file.js';

/* The public interface: writes the client of a service. */

export type { OpenApiDocument } from './document.js';
export type { ClientIdentity } from './names.js';
export type { ErrorKind } from './generated-file.js';

export interface ClientSource {
  readonly identity: ClientIdentity;
  readonly document: OpenApiDocument;
  /** All errors that the service can respond with. */
  readonly errors: readonly ErrorKind[];
  /** Of the client, such as `MIT`. */
  readonly license: string;
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly engines: Readonly<Record<string, string>>;
}

/** Also from a bundle, this is where the package is. */
const PACKAGE = fileURLToPath(
  new URL('.', import.meta.resolve('@resource-service/client/package.json')),
);

/**
 * Writes the client of a service, as a package: the code that all clients share, the types of the document, and a class with the
 * operations. It replaces what the folder contains. `client.tgz` there is the packed package.
 */
export async function writeClient(source: ClientSource, folder: string): Promise<void> {
  const { identity, document, errors, license } = source;
  const plan = planOf(identity, document);
  const manifest = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8')) as Manifest;
  await rm(folder, { recursive: true, force: true });
  const shared = join(PACKAGE, 'src/runtime');
  const files: Record<string, string> = {};
  for (const name of await readdir(shared)) {
    files[`src/${name}`] = await readFile(join(shared, name), 'utf8');
  }
  Object.assign(files, {
    'src/generated.ts': generatedFile(document, errors, plan),
    'src/openapi.ts': await typesFile(document),
    [`src/${identity.name}.ts`]: mainFile(plan),
    'README.md': readmeFile(plan),
    'package.json': jsonOf(packageOf(plan, manifest, license)),
    'tsconfig.json': jsonOf(COMPILATION),
    'commonjs/package.json': jsonOf({ type: 'commonjs' }),
  });
  for (const path of ['src', 'commonjs']) await mkdir(join(folder, path), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    await writeFile(join(folder, path), withNames(text, plan));
  }
  await compile(folder);
  // The same declarations: the package.json beside them says what they are.
  const compiled = await readdir(join(folder, 'dist'));
  for (const name of compiled.filter((each) => each.endsWith('.d.ts'))) {
    await copyFile(join(folder, 'dist', name), join(folder, 'commonjs', name));
  }
  await pack(folder);
}

/** For current browsers, too, so without what only Node.js has. */
const COMPILATION = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2022', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    module: 'nodenext',
    types: [],
    strict: true,
    noImplicitOverride: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    isolatedModules: true,
    declaration: true,
    skipLibCheck: true,
    rootDir: 'src',
    outDir: 'dist',
  },
  include: ['src'],
};

/** CommonJS programs load the ES modules, too, but TypeScript wants declarations that say so. */
function packageOf(
  { identity, packageName }: Plan,
  { dependencies, engines }: Manifest,
  license: string,
) {
  const { name, title, build } = identity;
  const program = `./dist/${name}.js`;
  const types = `./dist/${name}.d.ts`;
  return {
    name: packageName,
    version: build.version,
    description: `The client of ${title}: typed, with exact ids, for Node.js and browsers`,
    license,
    type: 'module',
    sideEffects: false,
    main: program,
    types,
    exports: {
      '.': {
        require: { types: `./commonjs/${name}.d.ts`, default: program },
        types,
        default: program,
      },
      // Tools read it, such as those that list licences.
      './package.json': './package.json',
    },
    files: ['commonjs', 'dist'],
    engines,
    dependencies,
  };
}

/** The shared names of the error and of the options begin with the name of the class. */
function withNames(text: string, { className }: Plan): string {
  return text
    .replaceAll(/\bServiceError\b/g, `${className}Error`)
    .replaceAll(/\bClientOptions\b/g, `${className}Options`);
}

async function pack(folder: string): Promise<void> {
  const words = ['pack', '--silent', '--ignore-scripts'];
  const options = { cwd: folder, shell: process.platform === 'win32' };
  const { stdout } = await promisify(execFile)('npm', words, options);
  await rename(join(folder, stdout.trim()), join(folder, 'client.tgz'));
}

async function compile(folder: string): Promise<void> {
  const tsc = installedPackage('typescript/bin/tsc');
  try {
    await promisify(execFile)(process.execPath, [tsc, '--project', folder]);
  } catch (error) {
    throw new Error(`the client cannot be compiled:\n${(error as { stdout: string }).stdout}`, {
      cause: error,
    });
  }
}

function jsonOf(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
