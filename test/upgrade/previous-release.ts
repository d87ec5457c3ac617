import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Release {
  readonly version: string;
  readonly commit: string;
}

const { version, commit } = JSON.parse(
  readFileSync(new URL('previous-release.json', import.meta.url), 'utf8'),
) as Release;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Not below `node_modules`, where the bundler of release 1.1.0 takes everything for packages. */
const CACHE = join(ROOT, 'dist-previous-release');

/** Builds the previous release from its commit, unless it was built before. Returns the path of its program. */
export function buildPreviousRelease(): string {
  const folder = join(CACHE, commit);
  if (!existsSync(folder)) {
    const build = join(CACHE, 'unfinished');
    rmSync(build, { recursive: true, force: true });
    mkdirSync(build, { recursive: true });
    run(build, 'tar', ['--extract'], sources());
    // Its embedded database is not used, so nothing has to be prepared for this machine.
    run(build, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--silent']);
    run(build, 'npm', ['run', 'build', '--silent']);
    renameSync(build, folder);
  }
  return join(folder, 'dist', 'main.js');
}

function sources(): Buffer {
  try {
    return execFileSync('git', ['archive', commit], {
      cwd: ROOT,
      maxBuffer: 256 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    throw new Error(
      `the commit of release ${version}, ${commit}, is not in this clone: run \`git fetch --unshallow\`, or name another commit in test/upgrade/previous-release.json`,
    );
  }
}

function run(folder: string, command: string, options: readonly string[], input?: Buffer): void {
  execFileSync(command, options, { cwd: folder, input, stdio: ['pipe', 'ignore', 'inherit'] });
}
