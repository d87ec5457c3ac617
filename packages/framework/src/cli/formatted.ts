import { createRequire } from 'node:module';
import { installedPackage } from '../config/installed-package.js';
import { StartupError } from '../errors/startup.error.js';

/**
 * The text of a file in the format of the project.
 *
 * @throws StartupError without the package prettier
 */
export async function formatted(file: string, text: string): Promise<string> {
  const { format, resolveConfig } = prettierFor(file);
  return format(text, { ...(await resolveConfig(file)), filepath: file });
}

function prettierFor(file: string): typeof import('prettier') {
  try {
    const require = createRequire(import.meta.url);
    return require(installedPackage('prettier')) as typeof import('prettier');
  } catch (cause) {
    throw new StartupError(`${file} is not written: run \`npm install --save-dev prettier\``, {
      cause,
    });
  }
}
