import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import {
  Refusal,
  requireResourceNames,
  requireServiceName,
  tokenPrefix,
  withResourceNames,
  withServiceName,
} from './names.js';
import { format, isOfResource, resourceFiles, templateFiles, templateText } from './resource.js';

/** The packages of this project. They have one version. */
const PACKAGES = ['framework', 'api-reference', 'client', 'command', 'create-service'];

/** npm does not pack a `.gitignore`. In this project, the compiler options of the project hold for the template. */
const RENAMED = { gitignore: '.gitignore', 'tsconfig.template.json': 'tsconfig.json' };

const { version: VERSION } = JSON.parse(
  fs.readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'),
);

/**
 * Makes a service in a new or empty folder, and installs its packages.
 *
 * @param hasChanges whether the changes of its resource are recorded
 * @param packages a folder with the packages of this project, which the service copies; otherwise they come from the registry
 */
export function createService(name, one, many, hasChanges, packages) {
  requireServiceName(name);
  requireResourceNames(one, many);
  const folder = resolve(name);
  if (fs.existsSync(folder) && !isEmpty(folder)) throw new Refusal(`${folder} is not empty`);
  const tarballs = packages === undefined ? undefined : tarballsIn(resolve(packages));
  const draft = fs.mkdtempSync(join(dirname(folder), `.${name}-`));
  try {
    write(draft, name, one, many, hasChanges, tarballs);
    if (fs.existsSync(folder)) fs.rmdirSync(folder);
    fs.renameSync(draft, folder);
  } finally {
    fs.rmSync(draft, { recursive: true, force: true });
  }
  process.stdout.write(`${name}: installing the packages\n`);
  const isInstalled = npm(folder, 'install', '--no-audit', '--no-fund');
  if (isInstalled) format(folder, '.');
  if (!isInstalled || !npm(folder, 'run', '--silent', 'openapi')) {
    throw new Refusal(
      `${folder} is complete but for its packages and openapi.json: run "npm install" and "npm run openapi" there`,
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
function npm(folder, ...words) {
  const { status } = spawnSync('npm', words, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  return status === 0;
}

function isEmpty(folder) {
  return fs.statSync(folder).isDirectory() && fs.readdirSync(folder).length === 0;
}

/** The packed packages, by name. */
function tarballsIn(folder) {
  const files = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  return new Map(
    PACKAGES.map((name) => {
      const file = `resource-service-${name}-${VERSION}.tgz`;
      if (!files.includes(file)) throw new Refusal(`${folder} has no ${file}`);
      return [`@resource-service/${name}`, join(folder, file)];
    }),
  );
}

function write(draft, name, one, many, hasChanges, tarballs) {
  fs.chmodSync(draft, 0o777 & ~process.umask());
  const put = (target, text) => {
    fs.mkdirSync(dirname(join(draft, target)), { recursive: true });
    fs.writeFileSync(join(draft, target), text);
  };
  for (const { file, text } of resourceFiles(draft, name, one, many, hasChanges)) {
    put(file, text);
  }
  for (const file of templateFiles().filter((path) => !isOfResource(path))) {
    const text = withServiceName(
      withResourceNames(templateText(file, hasChanges), one, many),
      name,
    ).replace("tokenPrefix: 'sam'", `tokenPrefix: '${tokenPrefix(name)}'`);
    put(RENAMED[file] ?? file, text);
  }
  if (tarballs !== undefined) useTarballs(draft, tarballs);
}

/** Without a registry, npm takes each package from the service itself, also what another one of them depends on. */
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
