import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { staticToken } from '../config/variable-parsers.js';
import { StartupError } from '../errors/startup.error.js';

/**
 * The ready-made token of a local instance: random, made once, kept in a file that only its owner
 * may read. The caller must be the only instance on the folder.
 *
 * @throws StartupError when there is something else in its place, which somebody may still need
 */
export async function localToken(folder: string): Promise<string> {
  const file = join(folder, 'token');
  const remedy = 'restore it, or delete it to get a new token, or set AUTH_TOKEN';
  const token = await keptToken(file)
    .then((kept) => kept ?? makeToken(file))
    .catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : '';
      throw new StartupError(`no token can be kept in ${file} (${reason}): ${remedy}`, { cause });
    });
  if (staticToken(token) !== undefined) return token;
  throw new StartupError(`what ${file} holds is no token: ${remedy}`);
}

/** What stands in the file, if there is one. */
async function keptToken(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function makeToken(file: string): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await writeFile(`${file}.new`, `${token}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return token;
}
