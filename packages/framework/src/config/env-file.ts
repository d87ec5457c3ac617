import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { StartupError } from '../errors/startup.error.js';

/** Any other encoding is an error. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Adds the variables of `.env` that the environment does not set.
 *
 * @throws StartupError if the file exists and cannot be read: a service without its variables would use another
 *   database
 */
export function withEnvFile(environment: Readonly<NodeJS.ProcessEnv>): NodeJS.ProcessEnv {
  let bytes: Buffer;
  try {
    bytes = readFileSync('.env');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { ...environment };
    throw new StartupError(`.env cannot be read: ${code}`, { cause: error });
  }
  return { ...variablesOf(textOf(bytes)), ...environment };
}

/**
 * Drops byte order marks, which would be part of names, also in the middle of joined files.
 *
 * @throws StartupError for another invisible character in a name: the variable would not count
 */
function variablesOf(text: string): NodeJS.ProcessEnv {
  const variables = Object.entries(parseEnv(text)).map(
    ([name, value]) => [name.replaceAll('\uFEFF', ''), value] as const,
  );
  if (variables.some(([name]) => /[^\x21-\x7E]/.test(name))) {
    throw new StartupError('.env: the name of a variable has a character other than visible ASCII');
  }
  return Object.fromEntries(variables);
}

function textOf(bytes: Buffer): string {
  try {
    // UTF-16 without a mark is valid UTF-8, in which every other character is NUL.
    if (!bytes.includes(0)) return utf8.decode(bytes);
  } catch {
    // Below.
  }
  throw new StartupError('.env must be in UTF-8');
}
