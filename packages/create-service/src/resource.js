import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { UsageError, requireResourceNames, withResourceNames, withServiceName } from './names.js';
import { parseProperties } from './properties.js';
import { withProperties } from './with-properties.js';

const TEMPLATE = join(import.meta.dirname, '..', 'template');

/** In the template: for the tables of the resource and of its changes. */
const MIGRATION_TIMES = ['1795395600000', '1795395600001'];

const APP = 'src/app.module.ts';

/**
 * Adds a resource to a service: its folder, its test, and its module in `app.module.ts`. Writes all of them or nothing.
 *
 * @param root the folder of the service
 * @param words the properties, such as `due:date`; none: the properties of the template
 * @param hasChanges whether its changes are recorded
 */
export async function addResource(root, one, many, words, hasChanges) {
  const { properties, mistakes } = parseProperties(words, many.replaceAll('-', '_'));
  requireResourceNames(one, many, mistakes);
  if (!existsSync(join(root, APP))) throw new UsageError(`there is no ${APP}: this is no service`);
  const created = resourceFiles(root, serviceName(root), one, many, { hasChanges, properties });
  const folders = hasChanges ? [many, `${one}-changes`] : [many];
  requireFree(root, one, [
    ...folders.map((folder) => `src/${folder}`),
    ...created.map(({ file }) => file),
  ]);
  if (hasChanges) requireChanges(root);
  const sources = await frameworkSources(root);
  await writeResource(sources, root, folders, created);
  format(root, ...created.map(({ file }) => file));
  process.stdout.write(`src/${many} has a resource, and test/${many}.e2e.test.ts its tests.
${nextSteps(one, many, properties, hasChanges)}`);
}

/** Whether a service has the folder of a resource. */
export function isResource(root, many) {
  return existsSync(join(root, 'src', many));
}

/** @throws UsageError without the package that records changes */
export function requireChanges(root) {
  installedIn(root, '@resource-service/changes/package.json');
}

/** The module of the framework that edits sources. */
export function frameworkSources(root) {
  return import(installedIn(root, '@resource-service/framework/sources'));
}

function nextSteps(one, many, properties, hasChanges) {
  if (properties.length > 0) {
    return `
"npm test" passes. Adapt the descriptions, and what values are valid, in src/${many}/${one}.entity.ts.
`;
  }
  return `
Adapt them in this order, then run "npm test":
1. src/${many}/${one}.entity.ts: the properties, and with them the columns
2. src/${many}/migrations: the table${hasChanges ? `; src/${one}-changes/migrations: the same columns, of which each can be null` : ''}
3. src/${many}/dto/${one}.dto.ts and ${many}.repository.ts: the filters of the list
4. src/${many}/${many}.examples.ts: the examples of requests
`;
}

/**
 * Writes the files of a resource, and lists its modules, which are named like their folders, in `app.module.ts`.
 *
 * @param sources the module of the framework that edits sources
 */
export async function writeResource(
  { SourceError, withAdditions, writeAll },
  root,
  folders,
  created,
  changed = () => Promise.resolve([]),
) {
  try {
    const text = await withAdditions(root, APP, folders.map(additionOf));
    writeAll(root, { created, changed: [...(await changed()), { file: APP, text }] });
  } catch (error) {
    throw error instanceof SourceError ? new UsageError(error.message) : error;
  }
}

/** @param paths of the files and folders of the resource */
export function requireFree(root, one, paths) {
  const existing =
    paths.find((path) => existsSync(join(root, path))) ??
    entityIn(filesIn(join(root, 'src')), one, root);
  if (existing !== undefined) throw new UsageError(`${existing} exists already`);
}

export function entityIn(files, one, root = '.') {
  const entity = files.find((file) => basename(file) === `${one}.entity.ts`);
  return entity && relative(root, entity);
}

/** Without the scope of the package. */
function serviceName(root) {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  try {
    // Windows PowerShell writes a byte order mark, which npm ignores, too.
    return JSON.parse(text.replace(/^\uFEFF/, '')).name.replace(/^.*\//, '');
  } catch (cause) {
    throw new UsageError('package.json has no name of the service', { cause });
  }
}

export function resourceFiles(root, service, one, many, { hasChanges, properties = [] }) {
  const sources = join(root, 'src');
  const others = existsSync(sources) ? filesIn(sources) : [];
  const rename = renamingFor({ times: MIGRATION_TIMES }, others, one, many);
  return templateFiles()
    .filter(isOfResource)
    .filter((name) => hasChanges || !name.includes('sample-item-change'))
    .map((name) => {
      const text = withServiceName(rename.text(templateText(name, hasChanges)), service);
      return {
        file: rename.names(name),
        text: withProperties(name, text, { one, many }, properties),
      };
    });
}

/**
 * Turns files of a template into files of a resource: with its names, the time of its migrations, and free error numbers.
 *
 * @param template `times` of its migrations; `noun`: see `withResourceNames`
 * @param others sources with older migrations and other error numbers
 */
export function renamingFor({ times, noun }, others, one, many) {
  const time = Math.max(Date.now(), ...others.flatMap(migrationTime).map((t) => t + 1));
  const range = freeRange(others.flatMap(errorRange));
  const names = (text) =>
    times.reduce(
      (changed, ofTemplate, index) => changed.replaceAll(ofTemplate, String(time + index)),
      withResourceNames(text, one, many, noun),
    );
  return { range, names, text: (text) => withErrorNumbers(names(text), range) };
}

export function templateFiles() {
  return filesIn(TEMPLATE).map((file) => relative(TEMPLATE, file).replaceAll('\\', '/'));
}

export function isOfResource(name) {
  return /^(src|test)\/sample-item/.test(name);
}

/** Without changes, drops the lines that name change records or import their package. */
export function templateText(name, hasChanges) {
  const text = readFileSync(join(TEMPLATE, name), 'utf8');
  if (hasChanges) return text;
  return text
    .replace(', SampleItemChangesModule', '')
    .replace(/,\s*Feed\s*>\(/, '>(')
    .replaceAll(/.*(SampleItemChange|from '@resource-service\/changes').*\n/g, '');
}

function migrationTime(name) {
  const [, time] = /migrations[\\/](\d{13})-/.exec(name) ?? [];
  return time === undefined ? [] : [Number(time)];
}

function errorRange(name) {
  if (!name.endsWith('errors.ts')) return [];
  const [, first, last] =
    /defineErrors\(\s*\[\s*(\d+)\s*,\s*(\d+)/.exec(readFileSync(name, 'utf8')) ?? [];
  return first === undefined ? [] : [[Number(first), Number(last)]];
}

/** The next range of error numbers: ten from 20 to 99, then a hundred (`defineErrors`). */
function freeRange(taken) {
  const next = Math.max(19, ...taken.map(([, last]) => last)) + 1;
  return next <= 90 ? [next, next + 9] : [Math.max(next, 100), Math.max(next, 100) + 99];
}

function withErrorNumbers(text, [first, last]) {
  const factor = first < 100 ? 100 : 100_000;
  return text
    .replaceAll(/\b(4\d\d)2(\d)\b/g, (_, status, n) => String(status * factor + first + Number(n)))
    .replaceAll('[20, 29]', `[${first}, ${last}]`);
}

function additionOf(folder) {
  const name = withResourceNames('SampleItemsModule', folder, folder);
  return { list: 'imports', name, path: `./${folder}/${folder}.module.js` };
}

/** The address of a module of the service, to whose package the generated code belongs. */
function installedIn(root, name) {
  try {
    return pathToFileURL(createRequire(join(root, 'package.json')).resolve(name)).href;
  } catch (cause) {
    const [scope, folder] = name.split('/');
    throw new UsageError(
      `this needs ${scope}/${folder} in the version of create-service: run "npm install ${scope}/${folder}"`,
      { cause },
    );
  }
}

/** With the service's own prettier, if it is installed. */
export function format(root, ...paths) {
  const ofService = createRequire(join(root, 'package.json'));
  let prettier;
  try {
    prettier = join(dirname(ofService.resolve('prettier/package.json')), 'bin/prettier.cjs');
  } catch {
    return;
  }
  spawnSync(process.execPath, [prettier, '--write', '--ignore-unknown', ...paths], {
    cwd: root,
    stdio: 'ignore',
  });
}

export function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}
