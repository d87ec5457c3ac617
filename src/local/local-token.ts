import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { staticToken } from '../config/variable-parsers.js';

/**
 * The ready-made token of a local instance: random, made once, kept in a file that only its owner
 * may read. The caller must be the only instance on the folder.
 */
export async function localToken(folder: string): Promise<string> {
  const file = join(folder, 'token');
  const kept = staticToken((await readFile(file, 'utf8').catch(() => '')).trim());
  if (kept !== undefined) return kept;
  const token = randomBytes(32).toString('base64url');
  await writeFile(`${file}.new`, `${token}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return token;
}
