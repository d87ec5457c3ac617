import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import {
  UsageError,
  requireResourceNames,
  requireServiceName,
  tokenPrefix,
  withResourceNames,
  withServiceName,
} from './names.js';
import { parseProperties } from './properties.js';
import { format, isOfResource, resourceFiles, templateFiles, templateText } from './resource.js';
import { withProperties } from './with-properties.js';

/** The packages of this project, which have one version. */
const PACKAGES = [
  'framework',
  'api-reference',
  'changes',
  'client',
  'command',
  'conformance',
  'create-service',
  'local',
  'webhooks',
];

/** npm does not pack a `.gitignore`, and this project compiles and lints the template with its own options. */
const RENAMED = {
  gitignore: '.gitignore',
  'oxlintrc.json': '.oxlintrc.json',
  'tsconfig.template.json': 'tsconfig.json',
};

const { version: VERSION } = JSON.parse(
  fs.readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'),
);

/** Files of version control, of editors, and of a new repository of GitHub. */
const NO_PROJECT =
  /^(\.git(|attributes|hub|ignore|keep|lab|lab-ci\.yml)|\.hg(|ignore)|\.svn|\.idea|\.vscode|\.editorconfig|\.ds_store|thumbs\.db|(licen[cs]e|readme)(\.\w+)?)$/i;

/**
 * Creates a service in a new folder, or in one without a project, and installs its packages. Existing files are kept.
 *
 * @param words the properties of its resource, such as `price:decimal(10,2)`; none: the properties of the template
 * @param hasChanges whether the changes of its resource are recorded
 * @param packages a folder with the packed packages of this project, instead of the registry
 */
export function createService(name, one, many, words, hasChanges, packages) {
  requireServiceName(name);
  const { properties, mistakes } = parseProperties(words, many.replaceAll('-', '_'));
  requireResourceNames(one, many, mistakes);
  const folder = resolve(name);
  const existing = fs.existsSync(folder) ? entriesOf(folder) : undefined;
  const tarballs = packages === undefined ? undefined : tarballsIn(resolve(packages));
  const draft = fs.mkdtempSync(join(existing ? folder : dirname(folder), `.${name}-`));
  let written;
  try {
    write(draft, name, one, many, { hasChanges, properties }, tarballs);
    written = fs.readdirSync(draft);
    if (existing === undefined) fs.renameSync(draft, folder);
    else written = move(draft, folder, existing);
  } finally {
    fs.rmSync(draft, { recursive: true, force: true });
  }
  process.stdout.write(`${name}: installing the packages\n`);
  // Overrides NODE_ENV and settings of npm.
  const all = ['--include=dev', '--include=optional'];
  const isInstalled = npm(folder, 'install', ...all, '--no-audit', '--no-fund');
  if (isInstalled) format(folder, ...written);
  if (!isInstalled || !npm(folder, 'run', '--silent', 'openapi')) {
    throw new UsageError(
      `${folder} is complete but for its packages and openapi.json: run "npm install --include=dev" and "npm run openapi" there`,
    );
  }
  process.stdout.write(`
${folder} has a service with the resource ${many}.

  cd ${name}
  npm start

README.md says what else there is.
`);
}

/** Whether npm succeeded. */
export function npm(folder, ...words) {
  const { status } = spawnSync('npm', words, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  return status === 0;
}

/** @throws UsageError if the folder has a project */
function entriesOf(folder) {
  const names = fs.readdirSync(folder);
  const ofProject = names.find((name) => !NO_PROJECT.test(name));
  if (ofProject !== undefined) {
    throw new UsageError(`${folder} is not empty: it has ${JSON.stringify(ofProject)}`);
  }
  return names;
}

/**
 * Moves all files of a service into a folder, or none if one cannot be moved.
 *
 * @returns the new names in the folder
 */
function move(draft, folder, existing) {
  const isKept = (name) => existing.some((each) => each.toLowerCase() === name.toLowerCase());
  const names = fs.readdirSync(draft);
  const added = names.filter((name) => !isKept(name));
  const moved = [];
  let hasLines = false;
  try {
    for (const name of added) {
      fs.renameSync(join(draft, name), join(folder, name));
      moved.push(name);
    }
    if (existing.includes('.gitignore')) hasLines = ignoreToo(draft, folder);
  } catch (error) {
    for (const name of moved) fs.renameSync(join(folder, name), join(draft, name));
    throw error;
  }
  for (const name of names.filter(isKept)) {
    const what = name === '.gitignore' && hasLines ? 'has further lines' : 'is kept';
    process.stdout.write(`${join(folder, name)} ${what}\n`);
  }
  return added;
}

/**
 * Adds missing lines to a `.gitignore`, because they keep the local token out of the repository.
 *
 * @returns whether it lacked any
 */
function ignoreToo(draft, folder) {
  const file = join(folder, '.gitignore');
  const text = fs.readFileSync(file, 'utf8');
  const known = text.split(/\r?\n/);
  const lines = fs.readFileSync(join(draft, '.gitignore'), 'utf8').split('\n');
  const missing = lines
    .filter((line) => line !== '' && !known.includes(line))
    .map((line) => `${line}\n`);
  const end = text === '' || text.endsWith('\n') ? '' : '\n';
  if (missing.length > 0) fs.appendFileSync(file, `${end}${missing.join('')}`);
  return missing.length > 0;
}

/** The packed packages, by name. */
function tarballsIn(folder) {
  const files = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  return new Map(
    PACKAGES.map((name) => {
      const file = `resource-service-${name}-${VERSION}.tgz`;
      if (!files.includes(file)) throw new UsageError(`${folder} has no ${file}`);
      return [`@resource-service/${name}`, join(folder, file)];
    }),
  );
}

function write(draft, name, one, many, { hasChanges, properties }, tarballs) {
  fs.chmodSync(draft, 0o777 & ~process.umask());
  const put = (target, text) => {
    fs.mkdirSync(dirname(join(draft, target)), { recursive: true });
    fs.writeFileSync(join(draft, target), text);
  };
  for (const { file, text } of resourceFiles(draft, name, one, many, { hasChanges, properties })) {
    put(file, text);
  }
  for (const file of templateFiles().filter((path) => !isOfResource(path))) {
    const text = withServiceName(
      withResourceNames(templateText(file, hasChanges), one, many),
      name,
    ).replace("tokenPrefix: 'sam'", `tokenPrefix: '${tokenPrefix(name)}'`);
    put(RENAMED[file] ?? file, withProperties(file, text, { one, many }, properties));
  }
  if (tarballs !== undefined) useTarballs(draft, tarballs);
}

/** Without a registry, npm takes each package from the service itself, also as a dependency of another one. */
function useTarballs(draft, tarballs) {
  const file = join(draft, 'package.json');
  const manifest = JSON.parse(fs.readFileSync(file, 'utf8'));
  fs.mkdirSync(join(draft, 'packages'));
  for (const [name, tarball] of tarballs) {
    const { [name]: ofDevelopers } = manifest.devDependencies;
    const kind = ofDevelopers === undefined ? 'dependencies' : 'devDependencies';
    manifest[kind][name] = `file:packages/${basename(tarball)}`;
    fs.copyFileSync(tarball, join(draft, 'packages', basename(tarball)));
  }
  fs.writeFileSync(file, `${JSON.stringify(manifest, undefined, 2)}\n`);
  const dockerfile = join(draft, 'Dockerfile');
  const before = 'COPY package.json package-lock.json ./\n';
  const text = fs
    .readFileSync(dockerfile, 'utf8')
    .replace(before, `${before}COPY packages packages\n`);
  fs.writeFileSync(dockerfile, text);
}
