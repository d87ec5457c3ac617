import { execFile } from 'node:child_process';
import { copyFileSync, cpSync, linkSync, mkdirSync, readdirSync } from 'node:fs';
import { cp, mkdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** Carried out with the packages that are installed here: downloading them takes a minute, and needs a registry. */
const INSTALL = 'npm ci --ignore-scripts';

/** What an instruction needs of the stage that it belongs to. */
interface Stage {
  readonly name: string;
  /** Stands for `/` of the image. */
  readonly root: string;
  readonly environment: Record<string, string>;
  readonly arguments: Record<string, string>;
  workdir: string;
  command: readonly string[];
  healthcheck: readonly string[];
}

/** What the last stage has. */
export interface Image {
  readonly workdir: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
}

/** The instructions of each stage, continued lines joined. */
export async function readDockerfile(): Promise<string[][]> {
  return (await readFile('Dockerfile', 'utf8'))
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split(/\n(?=FROM )/)
    .map((stage) => stage.split('\n').filter((line) => line !== ''));
}

/**
 * Carries out the instructions of the Dockerfile in a folder, as an engine does, but with the Node.js of this machine and
 * without a registry. Commands of the Dockerfile must use relative paths, because there is no `chroot` without privileges.
 *
 * @param folder an empty folder
 */
export async function buildImage(folder: string): Promise<Image> {
  const context = join(folder, 'context');
  await copyContext(context);
  const stages: Stage[] = [];
  for (const lines of await readDockerfile()) {
    for (const line of lines) {
      await carryOut(line, stages, { context, folder });
    }
  }
  return stages.at(-1)!;
}

/** What `.dockerignore` lets through. Only its exceptions from `*` are understood. */
async function copyContext(context: string): Promise<void> {
  const [everything, ...exceptions] = (await readFile('.dockerignore', 'utf8'))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (everything !== '*') throw new Error('.dockerignore must begin with *');
  for (const exception of exceptions) {
    const [, name] = /^!([\w./-]+)$/.exec(exception) ?? [];
    if (name === undefined) throw new Error(`cannot read in .dockerignore: ${exception}`);
    await cp(name, join(context, name), { recursive: true });
  }
}

interface Folders {
  readonly context: string;
  readonly folder: string;
}

async function carryOut(
  instruction: string,
  stages: Stage[],
  { context, folder }: Folders,
): Promise<void> {
  const [, keyword = '', rest = ''] = /^(\S+) (.*)$/.exec(instruction) ?? [];
  if (keyword === 'FROM') {
    const name = / AS (\S+)$/.exec(rest)?.[1] ?? String(stages.length);
    const root = join(folder, name);
    await mkdir(root);
    const { PATH = '' } = process.env;
    const begin = { environment: { PATH }, arguments: {}, workdir: root };
    stages.push({ name, root, ...begin, command: [], healthcheck: [] });
    return;
  }
  const stage = stages.at(-1);
  if (stage === undefined) throw new Error(`before the first FROM: ${instruction}`);
  switch (keyword) {
    case 'WORKDIR':
      stage.workdir = inside(stage, rest);
      await mkdir(stage.workdir, { recursive: true });
      break;
    case 'COPY': {
      const [, from, paths = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(rest) ?? [];
      const source = stages.find(({ name }) => name === from);
      if (from !== undefined && source === undefined) throw new Error(`no stage ${from}`);
      const names = paths.split(' ');
      const to = names.pop() ?? '';
      for (const name of names) await copy(join(source?.root ?? context, name), to, stage);
      break;
    }
    case 'RUN':
      if (rest === INSTALL) linkPackages(join(stage.workdir, 'node_modules'));
      else await runIn(stage, rest);
      break;
    case 'ENV':
      for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) {
        stage.environment[name] = value
          .replace(/^\/(?=\w)/, `${stage.root}/`)
          .replaceAll(/\$(\w+)/g, (_, other: string) => stage.environment[other] ?? '');
      }
      break;
    case 'ARG': {
      const [name = '', value = ''] = rest.split('=');
      stage.arguments[name] = value;
      break;
    }
    case 'CMD':
      stage.command = JSON.parse(rest) as string[];
      break;
    case 'HEALTHCHECK':
      stage.healthcheck = JSON.parse(rest.replace(/^.* CMD /, '')) as string[];
      break;
    case 'LABEL':
    case 'EXPOSE':
    // Another user needs privileges, and a folder that is not below a private home.
    case 'USER':
      break;
    default:
      throw new Error(`cannot carry out: ${instruction}`);
  }
}

/** A path of the image, on this machine. */
function inside({ root, workdir }: Stage, path: string): string {
  return path.startsWith('/') ? join(root, path) : resolve(workdir, path);
}

/** The contents of a folder go into the target, and a file goes to the target or, if that ends with a slash, into it. */
async function copy(source: string, to: string, stage: Stage): Promise<void> {
  const target = inside(stage, to);
  const isFile = (await stat(source)).isFile();
  await cp(source, isFile && to.endsWith('/') ? join(target, basename(source)) : target, {
    recursive: true,
    verbatimSymlinks: true,
  });
}

/** Installs the packages of this clone as links to their files, which takes a tenth of the time of copying them. */
function linkPackages(target: string, source = 'node_modules'): void {
  mkdirSync(target);
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    if (entry.name === '.cache') continue;
    const [from, to] = [join(source, entry.name), join(target, entry.name)];
    if (entry.isDirectory()) linkPackages(to, from);
    // npm writes its list of packages in place, so a link would change the list of this clone.
    else if (entry.isSymbolicLink() || entry.name === '.package-lock.json') {
      cpSync(from, to, { verbatimSymlinks: true });
    } else linkOrCopy(from, to);
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    // On another file system.
    copyFileSync(from, to);
  }
}

async function runIn(stage: Stage, command: string): Promise<void> {
  const { HOME } = process.env;
  await promisify(execFile)('sh', ['-c', command], {
    cwd: stage.workdir,
    env: {
      HOME,
      ...stage.arguments,
      ...stage.environment,
      npm_config_offline: 'true',
      npm_config_audit: 'false',
      npm_config_update_notifier: 'false',
    },
  });
}
