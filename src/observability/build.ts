import { readFileSync } from 'node:fs';

interface PackageFile {
  readonly version: string;
  /** What npm calls the commit that a package was made of; the image's build writes it down. */
  readonly gitHead?: string;
}

const { version, gitHead = 'unknown' } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as PackageFile;

/** Which version of the service this is, out of `package.json`. */
export const BUILD = { version, revision: gitHead } as const;
