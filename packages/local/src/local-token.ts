import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalError } from './local-error.js';

/** A valid `AUTH_TOKEN`: at least 32 characters of RFC 6750, section 2.1. */
const TOKEN = /^(?=.{32})[A-Za-z0-9\-._~+/]+=*$/;

/**
 * The random token of a local instance, stored in a file that only its owner can read. Must be called by a single instance for
 * each folder.
 *
 * @throws LocalError when the file has other content, which is not overwritten
 */
export async function localToken(folder: string): Promise<string> {
  const file = join(folder, 'token');
  const remedy = 'restore it, or delete it to get a new token, or set AUTH_TOKEN';
  const token = await storedToken(file).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : '';
    throw new LocalError(`cannot store the token in ${file} (${reason}): ${remedy}`, { cause });
  });
  if (TOKEN.test(token)) return token;
  throw new LocalError(`${file} does not contain a valid token: ${remedy}`);
}

/** Creates the file if it does not exist. */
async function storedToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // Hexadecimal: a program could take a token that begins with `-` for an option.
  const token = randomBytes(32).toString('hex');
  await writeFile(`${file}.new`, `${token}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return token;
}
