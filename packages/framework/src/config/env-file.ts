import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { StartupError } from '../errors/startup.error.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Adds the variables of `.env` that the environment does not set. Drops byte order marks, which would be part of names, also in
 * the middle of joined files.
 *
 * @throws StartupError if the file exists and cannot be read, or a name has another invisible character: a service without its
 *   variables would use another database
 */
export function withEnvFile(environment: Readonly<NodeJS.ProcessEnv>): NodeJS.ProcessEnv {
  let text: string;
  try {
    text = utf8.decode(readFileSync('.env'));
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { ...environment };
    const sentence = syscall === undefined ? 'must be in UTF-8' : `cannot be read: ${code}`;
    throw new StartupError(`.env ${sentence}`, { cause: error });
  }
  // UTF-16 without a mark is valid UTF-8, in which every other character is NUL.
  if (text.includes('\0')) throw new StartupError('.env must be in UTF-8');
  const variables = Object.entries(parseEnv(text)).map(
    ([name, value]) => [name.replaceAll('\uFEFF', ''), value] as const,
  );
  if (variables.some(([name]) => /[^\x21-\x7E]/.test(name))) {
    throw new StartupError('.env: the name of a variable has a character other than visible ASCII');
  }
  return { ...Object.fromEntries(variables), ...environment };
}
