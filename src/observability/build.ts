import { readFileSync } from 'node:fs';

interface PackageFile {
  readonly version: string;
  /** The commit, in npm's name for it. The build of the image sets it. */
  readonly gitHead?: string;
  readonly homepage?: string;
}

const PACKAGE = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as PackageFile;

/** Version and commit of the service, from `package.json`. */
export const BUILD = { version: PACKAGE.version, revision: PACKAGE.gitHead ?? 'unknown' } as const;

/** The address of the project's documents, if `package.json` has one. */
export const HOMEPAGE = PACKAGE.homepage;
