import { readFile } from 'node:fs/promises';
import { B64TOKEN, publicUrl } from '../../packages/framework/src/config/variable-parsers.js';
import { TemporaryFailure, usageError } from './command-error.js';
import { Contact } from './contact.js';
import { ownService } from './own-service.js';
import type { Limits } from './retries.js';

const TOKEN_RULE = 'of the characters A-Z a-z 0-9 - . _ ~ + / (and = at the end)';

export interface Connection {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Reads a token file anew, because tokens are rotated. */
  readonly token: () => Promise<string>;
  /** Longest time of a request without a byte sent or received, in milliseconds. */
  readonly idle: number;
  readonly contact: Contact;
}

/**
 * Reads the variables of the command.
 *
 * @throws CommandError that names the variable and the rule, but not the value, which may be a secret
 */
export async function readConnection(
  environment: NodeJS.ProcessEnv,
  { idle, firstContact }: Limits,
): Promise<Connection> {
  const text = (name: string) => environment[name]?.trim() ?? '';
  const [rawUrl, file] = [text('PLANT_STORE_URL'), text('PLANT_STORE_TOKEN_FILE')];
  // Its token is not for another service.
  const own = rawUrl === '' ? ownService(environment) : undefined;
  if (rawUrl === '' && own === undefined) throw usageError('PLANT_STORE_URL is not set');
  const url = publicUrl(own?.url ?? rawUrl);
  if (url === undefined) {
    throw usageError(
      'PLANT_STORE_URL must be an http or https URL without query, such as https://shop.example.com/api',
    );
  }
  const baseUrl = url.href.replace(/\/$/, '');
  const contact = new Contact(baseUrl, firstContact);
  const given = text('PLANT_STORE_TOKEN');
  if (given !== '' && file !== '') {
    throw usageError('PLANT_STORE_TOKEN and PLANT_STORE_TOKEN_FILE are both set: unset one');
  }
  if (file === '') {
    const token = given === '' ? own?.token : given;
    if (token === undefined) {
      throw usageError(
        own === undefined
          ? 'PLANT_STORE_TOKEN is not set, and neither is PLANT_STORE_TOKEN_FILE'
          : 'PLANT_STORE_TOKEN is not set, and the service here has no AUTH_TOKEN: set PLANT_STORE_TOKEN to a token that it accepts',
      );
    }
    if (!B64TOKEN.test(token)) throw usageError(`PLANT_STORE_TOKEN must consist ${TOKEN_RULE}`);
    return { baseUrl, idle, contact, token: () => Promise.resolve(token) };
  }
  const fault = (error: Error) => `PLANT_STORE_TOKEN_FILE must name a file ${error.message}`;
  await readToken(file).catch((error: Error) => {
    throw usageError(fault(error));
  });
  const readAgain = () =>
    readToken(file).catch((error: Error) => {
      // Perhaps the token is being replaced.
      throw new TemporaryFailure(fault(error));
    });
  return { baseUrl, idle, contact, token: readAgain };
}

/** @throws Error whose message says what the file must be */
async function readToken(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`that can be read: ${error.code}`, { cause: error });
  });
  const token = text.trim();
  if (!B64TOKEN.test(token)) throw new Error(`with a token ${TOKEN_RULE}`);
  return token;
}
