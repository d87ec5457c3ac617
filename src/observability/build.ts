import { readFileSync } from 'node:fs';

interface PackageFile {
  readonly version: string;
  /** The commit, in npm's name for it. The build of the image sets it. */
  readonly gitHead?: string;
}

const { version, gitHead = 'unknown' } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as PackageFile;

/** Version and commit of the service, from `package.json`. */
export const BUILD = { version, revision: gitHead } as const;
