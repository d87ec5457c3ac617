import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { staticToken } from '../config/variable-parsers.js';
import { StartupError } from '../errors/startup.error.js';

/**
 * The token of a local instance: random, generated once, and stored in a file that only its owner can read. Must be
 * called by a single instance for each folder.
 *
 * @throws StartupError when the file has other content, which is not overwritten
 */
export async function localToken(folder: string): Promise<string> {
  const file = join(folder, 'token');
  const remedy = 'restore it, or delete it to get a new token, or set AUTH_TOKEN';
  const token = await storedToken(file).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : '';
    throw new StartupError(`cannot store the token in ${file} (${reason}): ${remedy}`, { cause });
  });
  if (staticToken(token) !== undefined) return token;
  throw new StartupError(`${file} does not contain a valid token: ${remedy}`);
}

/** The content of the file, which is made if it does not exist. */
async function storedToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const token = randomBytes(32).toString('base64url');
  await writeFile(`${file}.new`, `${token}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return token;
}
