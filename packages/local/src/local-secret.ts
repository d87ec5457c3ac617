import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalError } from './local-error.js';

export interface LocalSecret {
  /** Of its file, and in texts. */
  readonly name: string;
  /** The variable that replaces it. */
  readonly variable: string;
  readonly make: () => string;
  readonly valid: RegExp;
}

export const TOKEN: LocalSecret = {
  name: 'token',
  variable: 'AUTH_TOKEN',
  // Hexadecimal: a program could take a token that begins with `-` for an option.
  make: () => randomBytes(32).toString('hex'),
  /** At least 32 characters of RFC 6750, section 2.1. */
  valid: /^(?=.{32})[A-Za-z0-9\-._~+/]+=*$/,
};

/** The value of a variable of the service. */
export function secretOf(variable: string, make: () => string): LocalSecret {
  const name = variable.toLowerCase().replaceAll('_', '-');
  return { name, variable, make, valid: /./ };
}

/**
 * A secret of a local instance, stored in a file that only its owner can read. Must be called by a single instance for each folder.
 *
 * @throws LocalError when the file has other content, which is not overwritten
 */
export async function localSecret(
  folder: string,
  { name, variable, make, valid }: LocalSecret,
): Promise<string> {
  const file = join(folder, name);
  const remedy = `restore it, or delete it to get a new ${name}, or set ${variable}`;
  const secret = await storedSecret(file, make).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : '';
    throw new LocalError(`cannot store the ${name} in ${file} (${reason}): ${remedy}`, { cause });
  });
  if (valid.test(secret)) return secret;
  throw new LocalError(`${file} does not contain a valid ${name}: ${remedy}`);
}

/** Creates the file if it does not exist. */
async function storedSecret(file: string, make: () => string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const secret = make();
  await writeFile(`${file}.new`, `${secret}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return secret;
}
