import { writeFile } from 'node:fs/promises';
import { StartupError } from '../errors/startup.error.js';

/**
 * Writes a file as the project formats such files.
 *
 * @throws StartupError without the package prettier, which only those who change a service have
 */
export async function writeFormatted(file: string, text: string): Promise<void> {
  const { format, resolveConfig } = await import('prettier').catch((cause: unknown) => {
    throw new StartupError(`${file} is not written: run \`npm install --save-dev prettier\``, {
      cause,
    });
  });
  await writeFile(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
}
