import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { sbom } from './sbom.js';

/* `npm run build`: bundles what a deployment runs into `dist/`, unless `dist/` is newer than its sources. Loading a few
   bundled files takes a third of the time that loading the 1,500 files of the packages takes: a start of 1.1 s spent nine
   tenths of it there. A start loads 20 files; OpenTelemetry, the reference page and YAML are loaded when needed.

   Tests load `dist/in-process.js`, an entry of the bundle; coverage loads the sources. `npm run start:dev` runs the
   compiler's output in `build/`. Bundling checks no types.

   `npm run build -- examples/gardens` builds the application of an example, and the command with its
   OpenAPI document, into `dist-gardens/`. */

const [example] = process.argv.slice(2);
const OUTPUT = example === undefined ? 'dist' : `dist-${basename(example)}`;

/** An image has no local database: the Dockerfile leaves out its sources. */
const LOCAL = 'packages/local/src';
const HAS_LOCAL = existsSync(LOCAL);

const SOURCES = [
  'src',
  'packages/api-reference/package.json',
  'packages/api-reference/src',
  'packages/api-reference/public',
  'packages/framework/package.json',
  'packages/framework/src',
  'packages/changes/package.json',
  'packages/changes/src',
  'packages/webhooks/package.json',
  'packages/webhooks/src',
  'packages/client/package.json',
  'packages/client/src',
  'packages/command/package.json',
  'packages/command/src',
  'openapi.json',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'bundle.js',
  'sbom.js',
  ...(example === undefined ? [] : [example]),
  ...(HAS_LOCAL ? ['packages/local/package.json', LOCAL] : []),
];

/** The folder of the application. */
const APP = resolve(example ?? 'src');

/** Runs before the rest is loaded, which an old Node.js cannot load. */
const CHECK = `import ${JSON.stringify(resolve('packages/framework/src/config/node-version.js'))};
`;
/** Stack traces name the files and lines of the sources. */
const BEFORE = `${CHECK}process.setSourceMapsEnabled(true);
`;
const FRAMEWORK = `await import('@resource-service/framework')`;
const CLI = `await import('@resource-service/framework/cli')`;
const IDENTITY = `(await import(${JSON.stringify(resolve('src/identity.ts'))})).IDENTITY`;
const DOCUMENT = `(await import(${JSON.stringify(resolve(example ?? '', 'openapi.json'))})).default`;
const APP_MODULE = `(await import(${JSON.stringify(`${APP}/app.module.ts`)})).AppModule`;

/** What begins the name of a module that is in no file. */
const PROGRAM = 'program:';
/** The programs in `dist/`, and with `in-process` a module with which tests run the service in their process. */
const PROGRAMS = {
  main: `${BEFORE}await import(${JSON.stringify(`${APP}/main.ts`)});`,
  'in-process': `export * from '@resource-service/framework/testing';
    export { AppModule } from ${JSON.stringify(`${APP}/app.module.ts`)};`,
  'cli/migration': `${BEFORE}await (${CLI}).migrationCommand(${APP_MODULE});`,
  'cli/develop': `${BEFORE}await (${CLI}).developCommand(${APP_MODULE});`,
  'cli/write-documents': `${BEFORE}
    const [openApi, errors, limits, variables] = process.argv.slice(2);
    await (${CLI}).writeDocuments(${APP_MODULE}, { openApi, errors, limits, variables });`,
  // Does nothing if the client is newer than this program. The application defines its errors when it is loaded.
  'cli/write-client': `${BEFORE}
    const { statSync } = await import('node:fs');
    const [, program, folder] = process.argv;
    try {
      const packed = statSync(folder + '/client.tgz', { throwIfNoEntry: false });
      if (packed === undefined || packed.mtimeMs < statSync(program).mtimeMs) {
        ${APP_MODULE};
        const { writeClient } = await import('@resource-service/client/generator');
        await writeClient({
          identity: ${IDENTITY},
          document: ${DOCUMENT},
          errors: (${FRAMEWORK}).allErrors(),
          license: ${JSON.stringify(JSON.parse(readFileSync('package.json', 'utf8')).license)},
        }, folder);
      }
    } catch (error) {
      if (error.syscall === undefined) throw error;
      process.stderr.write('plant-store: cannot write the client to ' + folder + ' (' + error.code + ')\\n');
      process.exitCode = 1;
    }`,
  // Without source maps, which take time to load.
  'cli/plant-store': `#!/usr/bin/env node
${CHECK}const { runCommand } = await import('@resource-service/command');
await runCommand({ identity: ${IDENTITY}, document: ${DOCUMENT} });`,
};

/** Written after a complete build. Its time is the beginning of the build: a file may change while it is read. */
const STAMP = `${OUTPUT}/.built`;

/** These modules load TypeORM and class-transformer with a `require` of their own, so they would get a second copy. */
const OWN_REQUIRE = {
  ids: [
    '@nestjs/typeorm/dist/common/typeorm-compat.js',
    '@nestjs/mapped-types/dist/type-helpers.utils.js',
  ],
  code: 'const require = createRequire(import.meta.url);',
};

if (!isUpToDate()) {
  const build = await bundler();
  requireWritableOutput();
  const begin = new Date();
  const withoutOwnRequire = [];
  await build({
    input: Object.fromEntries(Object.keys(PROGRAMS).map((name) => [name, PROGRAM + name])),
    resolve: { conditionNames: ['@resource-service/source', 'node', 'default'] },
    platform: 'node',
    // Both would drop calls that only check their argument by throwing, such as `decodeURIComponent(text);`.
    treeshake: false,
    tsconfig: 'tsconfig.json',
    // Optional packages of NestJS that this project does not install, and what only developers use.
    external: [
      /^@nestjs\/(microservices|websockets)/,
      '@fastify/static',
      '@nestjs/testing',
      'openapi-typescript',
      'prettier',
      'typescript',
      ...(HAS_LOCAL ? [] : ['@resource-service/local']),
    ],
    plugins: [
      sbom(),
      {
        name: 'programs',
        resolveId: { filter: { id: new RegExp(`^${PROGRAM}`) }, handler: (id) => id },
        load: {
          filter: { id: new RegExp(`^${PROGRAM}`) },
          handler: (id) => PROGRAMS[id.slice(PROGRAM.length)],
        },
      },
      {
        name: 'own-require',
        load: {
          filter: { id: OWN_REQUIRE.ids.map((id) => `**/node_modules/${id}`) },
          handler: (id) => {
            withoutOwnRequire.push(id);
            return replaced(readFileSync(id, 'utf8'), OWN_REQUIRE.code, '');
          },
        },
        buildEnd: () => {
          if (withoutOwnRequire.length < OWN_REQUIRE.ids.length) {
            throw new Error(
              `of ${OWN_REQUIRE.ids.join(', ')}, only found ${withoutOwnRequire.join(', ')}`,
            );
          }
        },
      },
      {
        name: 'small-packages',
        generateBundle: (_options, bundle) => {
          for (const file of Object.values(bundle)) {
            if (!file.fileName.startsWith('packages/')) continue;
            // Node.js reads every source map at the start.
            if (file.type === 'asset') delete bundle[file.fileName];
            else file.code = replaced(file.code, /\n\/\/# sourceMappingURL=.*/, '');
          }
        },
      },
    ],
    output: {
      dir: OUTPUT,
      cleanDir: true,
      chunkFileNames: ({ name }) =>
        name.startsWith('packages') ? 'packages/[hash].js' : 'chunks/[name].js',
      // TypeORM, NestJS and the log use the names of classes.
      keepNames: true,
      // V8 keeps the source in memory: two bytes for each character of a file that is not in ASCII. With the whitespace, this
      // saves 12 of 124 MB at rest on Node.js 26.
      charset: 'ascii',
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
      comments: { legal: true, annotation: false, jsdoc: false },
      sourcemap: true,
      // Separate from the packages, so that the source maps of this project stay small.
      codeSplitting: {
        groups: [{ name: 'packages', test: /[\\/]node_modules[\\/]/, entriesAware: true }],
      },
    },
  });
  // Has a shebang line.
  chmodSync(`${OUTPUT}/cli/plant-store.js`, 0o755);
  writeFileSync(STAMP, '');
  utimesSync(STAMP, begin, begin);
}

/**
 * The first command of a new clone may be `npm start`, before its packages are installed. With `NODE_ENV=production`, npm
 * leaves out the packages that the build needs. The bundler throws an error of its own without its optional package.
 */
async function bundler() {
  try {
    const { build } = await import('rolldown');
    // After an update of a clone, the link to a new package of the project may be missing.
    import.meta.resolve('@resource-service/framework/package.json');
    return build;
  } catch {
    return fail(
      'the packages are not installed: run `npm ci --include=dev --include=optional` first',
    );
  }
}

/** The first user of a clone may not be its owner. The bundler would report a fault of its own. */
function requireWritableOutput() {
  try {
    mkdirSync(OUTPUT, { recursive: true });
    accessSync(OUTPUT, constants.W_OK);
  } catch ({ code }) {
    fail(`cannot write the build to ${OUTPUT} (${code}): run \`npm run build\` as the owner first`);
  }
}

function fail(reason) {
  process.stderr.write(`plant-store: ${reason}\n`);
  process.exit(1);
}

/** Fails if there is nothing to replace: a new version of a package or of the bundler needs another replacement. */
function replaced(code, pattern, replacement) {
  const result = code.replace(pattern, replacement);
  if (result === code) throw new Error(`found nothing to replace: ${pattern}`);
  return result;
}

function isUpToDate() {
  if (!existsSync(STAMP)) return false;
  const built = statSync(STAMP).mtimeMs;
  const files = SOURCES.filter((source) => statSync(source).isDirectory()).flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))),
  );
  return [...SOURCES, ...files].every((file) => statSync(file).mtimeMs < built);
}
