import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** The scope of the packages that are folders of this project. */
const OWN = '@resource-service';

/**
 * Installs the packages of this clone in a copy of the project, as links. Only the project's own packages are those of the
 * copy, as `npm ci` links them.
 *
 * @param except what is left out
 */
export async function linkPackages(copy: string, except: readonly string[] = []): Promise<void> {
  const modules = join(copy, 'node_modules');
  await mkdir(join(modules, OWN), { recursive: true });
  for (const name of await readdir('node_modules')) {
    if (name === OWN || except.includes(name)) continue;
    await symlink(resolve('node_modules', name), join(modules, name));
  }
  for (const name of await readdir('packages')) {
    await symlink(`../../packages/${name}`, join(modules, OWN, name));
  }
}
