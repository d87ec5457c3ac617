import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import {
  B64TOKEN,
  localAddress,
  publicUrl,
  readConfig,
  StartupError,
  withEnvFile,
} from '@resource-service/framework/command';
import type { Identity } from '@resource-service/framework/identity';
import { TemporaryError, usageError } from '../command-error.js';
import type { Service } from '../service.js';
import type { Limits } from './limits.js';

const TOKEN_CHARACTERS = 'of the characters A-Z a-z 0-9 - . _ ~ + / (and = at the end)';

export interface Connection {
  readonly service: Service;
  readonly baseUrl: string;
  /** Reads a token file anew, because tokens are rotated. */
  readonly token: () => Promise<string>;
  /** The variable that the token is from. */
  readonly tokenVariable: string;
  readonly limits: Limits;
}

/** Its errors name the variable and what it must be, but not the value, which may be a secret. */
export async function readConnection(
  service: Service,
  environment: NodeJS.ProcessEnv,
  limits: Limits,
): Promise<Connection> {
  const { variables } = service;
  const text = (name: string) => environment[name]?.trim() ?? '';
  const [rawUrl, givenFile, given] = [
    text(variables.url),
    text(variables.tokenFile),
    text(variables.token),
  ];
  // Its token is not for another service.
  const own = rawUrl === '' ? ownService(service.identity, environment) : undefined;
  if (rawUrl === '' && own === undefined) {
    throw usageError(`${variables.url} is not set, and no service runs in this folder`);
  }
  const url = publicUrl(own?.url ?? rawUrl);
  if (url === undefined) {
    throw usageError(
      `${variables.url} must be an http or https URL without query, such as https://shop.example.com/api`,
    );
  }
  if (given !== '' && givenFile !== '') {
    throw usageError(`${variables.token} and ${variables.tokenFile} are both set: unset one`);
  }
  const connection = { service, baseUrl: url.href.replace(/\/$/, ''), limits };
  const file = givenFile === '' && given === '' ? own?.tokenFile : givenFile;
  if (file) {
    const tokenVariable = variables.tokenFile;
    const fault = (error: Error) => `${tokenVariable} must name a file ${error.message}`;
    await readToken(file).catch((error: Error) => {
      throw usageError(fault(error));
    });
    const token = () =>
      readToken(file).catch((error: Error) => {
        // Perhaps the token is being replaced.
        throw new TemporaryError(fault(error));
      });
    return { ...connection, token, tokenVariable };
  }
  const token = given === '' ? own?.token : given;
  if (token === undefined) {
    throw usageError(
      own === undefined
        ? `${variables.token} is not set, and neither is ${variables.tokenFile}`
        : `${variables.token} is not set, and the service here has no AUTH_TOKEN: set ${variables.token} to a token that it accepts`,
    );
  }
  if (!B64TOKEN.test(token))
    throw usageError(`${variables.token} must consist ${TOKEN_CHARACTERS}`);
  const tokenVariable = given === '' ? 'AUTH_TOKEN' : variables.token;
  return { ...connection, token: () => Promise.resolve(token), tokenVariable };
}

/** @throws Error whose message says what the file must be */
async function readToken(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`that can be read: ${error.code}`, { cause: error });
  });
  const token = text.trim();
  if (!B64TOKEN.test(token)) throw new Error(`with a token ${TOKEN_CHARACTERS}`);
  return token;
}

/** Where `npm start` stores the token that it generates, in the working directory. */
const LOCAL_TOKEN = '.data/token';

/**
 * The service that runs on the variables of this process, in a container of the service: `docker compose exec api tool-library
 * export`, or in this folder: with `.env`, or by `npm start`. It has no token if it accepts only other tokens.
 */
export function ownService(identity: Identity, environment: NodeJS.ProcessEnv) {
  try {
    const { database, http, auth } = readConfig(identity, withEnvFile(environment));
    const isLocal = database.url === undefined && existsSync(LOCAL_TOKEN);
    // Otherwise, these are not the variables of a service. A random port is unknown here.
    if ((database.url === undefined && !isLocal) || http.port === 0) return undefined;
    const family = isIP(http.host) === 6 ? 'IPv6' : 'IPv4';
    const url = localAddress(http, { address: http.host, family, port: http.port });
    const tokenFile = isLocal && auth.token === undefined ? LOCAL_TOKEN : undefined;
    return { url, token: auth.token, tokenFile };
  } catch (error) {
    if (error instanceof StartupError) return undefined;
    throw error;
  }
}
