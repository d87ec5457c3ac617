import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { StartupError } from '../errors/startup.error.js';

/** Any other encoding is an error. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The environment, with the variables of `.env` where it does not set them.
 *
 * @throws StartupError if there is such a file, and it cannot be read: a service without its variables would use another
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
  return { ...parseEnv(textOf(bytes)), ...environment };
}

function textOf(bytes: Buffer): string {
  try {
    // UTF-16 without a mark is valid UTF-8, in which every other character is NUL.
    if (!bytes.includes(0)) return withoutMarks(utf8.decode(bytes));
  } catch (error) {
    if (error instanceof StartupError) throw error;
  }
  throw new StartupError('.env must be in UTF-8');
}

/**
 * Leaves out byte order marks, which would be part of names. Files that were joined have them in the middle as well.
 *
 * @throws StartupError for another character that nobody sees in front of a name: the variable would not count
 */
function withoutMarks(text: string): string {
  const plain = text.replaceAll(/^\uFEFF+/gm, '');
  const line = plain.split('\n').findIndex((each) => /^[ \t]*(?:[^\P{Z} ]|\p{Cf})/u.test(each));
  if (line === -1) return plain;
  throw new StartupError(`.env: line ${line + 1} begins with a character that is not visible`);
}
