import { execFile } from 'node:child_process';
import { copyFile, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const EXAMPLE = 'examples/tool-library';

/** Within the project, whose packages it uses. */
const FOLDER = resolve('node_modules/.cache/tool-library');

/** Compiles the packages and the example, and returns the path of its program. */
export async function buildToolLibrary(): Promise<string> {
  await mkdir(FOLDER, { recursive: true });
  await copyFile(join(EXAMPLE, 'package.json'), join(FOLDER, 'package.json'));
  const tsc = (...words: readonly string[]) => run('npx', ['tsc', ...words]);
  await tsc('--build', 'packages/changes', 'packages/command');
  const build = join(FOLDER, 'build');
  const output = ['--outDir', build, '--tsBuildInfoFile', join(build, '.tsbuildinfo')];
  await tsc('--project', join(EXAMPLE, 'tsconfig.build.json'), ...output);
  return join(build, 'main.js');
}
