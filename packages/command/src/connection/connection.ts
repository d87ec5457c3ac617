import { readFile } from 'node:fs/promises';
import { B64TOKEN, publicUrl } from '@resource-service/framework/command';
import { TemporaryFailure, usageError } from '../command-error.js';
import { Contact } from './contact.js';
import { ownService } from '../tokens/own-service.js';
import type { Limits } from './limits.js';
import type { Service } from '../service.js';

const TOKEN_RULE = 'of the characters A-Z a-z 0-9 - . _ ~ + / (and = at the end)';

export interface Connection {
  /** What the command expects there. */
  readonly service: Service;
  readonly baseUrl: string;
  /** Reads a token file anew, because tokens are rotated. */
  readonly token: () => Promise<string>;
  readonly limits: Limits;
  readonly contact: Contact;
}

/**
 * Reads the variables of the command.
 *
 * @throws CommandError that names the variable and the rule, but not the value, which may be a secret
 */
export async function readConnection(
  service: Service,
  environment: NodeJS.ProcessEnv,
  limits: Limits,
): Promise<Connection> {
  const { variables } = service;
  const text = (name: string) => environment[name]?.trim() ?? '';
  const [rawUrl, file] = [text(variables.url), text(variables.tokenFile)];
  // Its token is not for another service.
  const own = rawUrl === '' ? ownService(service.identity, environment) : undefined;
  if (rawUrl === '' && own === undefined) throw usageError(`${variables.url} is not set`);
  const url = publicUrl(own?.url ?? rawUrl);
  if (url === undefined) {
    throw usageError(
      `${variables.url} must be an http or https URL without query, such as https://shop.example.com/api`,
    );
  }
  const baseUrl = url.href.replace(/\/$/, '');
  const contact = new Contact(baseUrl, limits.firstContact);
  const given = text(variables.token);
  if (given !== '' && file !== '') {
    throw usageError(`${variables.token} and ${variables.tokenFile} are both set: unset one`);
  }
  if (file === '') {
    const token = given === '' ? own?.token : given;
    if (token === undefined) {
      throw usageError(
        own === undefined
          ? `${variables.token} is not set, and neither is ${variables.tokenFile}`
          : `${variables.token} is not set, and the service here has no AUTH_TOKEN: set ${variables.token} to a token that it accepts`,
      );
    }
    if (!B64TOKEN.test(token)) throw usageError(`${variables.token} must consist ${TOKEN_RULE}`);
    return { service, baseUrl, limits, contact, token: () => Promise.resolve(token) };
  }
  const fault = (error: Error) => `${variables.tokenFile} must name a file ${error.message}`;
  await readToken(file).catch((error: Error) => {
    throw usageError(fault(error));
  });
  const readAgain = () =>
    readToken(file).catch((error: Error) => {
      // Perhaps the token is being replaced.
      throw new TemporaryFailure(fault(error));
    });
  return { service, baseUrl, limits, contact, token: readAgain };
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
