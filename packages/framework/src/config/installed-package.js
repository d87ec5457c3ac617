// @ts-check
import { createRequire } from 'node:module';

/**
 * Resolves a package that the service has installed, and this package has not. It starts from the folder of the
 * service: in a workspace, or with another package manager than npm, it is not above the folder of this package.
 *
 * @param {string} name
 * @param {string} [root] the folder of the service
 * @throws Error with the code `MODULE_NOT_FOUND`
 */
export function installedPackage(name, root = process.cwd()) {
  return createRequire(import.meta.url).resolve(name, { paths: [root, import.meta.dirname] });
}
