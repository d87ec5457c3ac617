import { createRequire } from 'node:module';

/**
 * The file of a package that is installed beside this one. It is looked for from the working directory: in a workspace, or with
 * another package manager than npm, it is not above the folder of this package.
 *
 * @throws Error with the code `MODULE_NOT_FOUND`
 */
export function installedPackage(name: string): string {
  const paths = [process.cwd(), import.meta.dirname];
  return createRequire(import.meta.url).resolve(name, { paths });
}
