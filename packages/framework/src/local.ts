import { pathToFileURL } from 'node:url';
import type * as Local from '@resource-service/local';
import type { Logger } from 'pino';
import { readCommandConfig, withDatabase } from './config/config.js';
import type { Config, ServiceConfig } from './config/config.js';
import { withEnvFile } from './config/env-file.js';
import type { Identity } from './config/identity.js';
import { installedPackage } from './config/installed-package.js';
import { readVariables } from './config/read-variable.js';
import type { ServiceVariables } from './config/service-variables.js';
import { StartupError } from './errors/startup.error.js';

interface LocalInstance {
  /** Of the database. */
  readonly url: string;
  /** Generated at the first start. */
  token(): Promise<string>;
  /** Made at the first start, for a variable. */
  secret(variable: string, make: () => string): Promise<string>;
}

/**
 * Runs a program on the database of the working directory, and stops the database afterwards.
 *
 * @throws StartupError
 * @throws AbortError when `signal` aborts the start
 */
export async function onLocalInstance<Result>(
  { name }: Identity,
  logger: Logger,
  signal: AbortSignal,
  program: (local: LocalInstance) => Promise<Result>,
): Promise<Result> {
  const { LocalError, startLocalInstance } = await installed();
  try {
    const log = (step: string) => logger.info(step);
    const local = await startLocalInstance({ name }, { log, signal });
    try {
      return await program(local);
    } finally {
      await local.stop();
    }
  } catch (error) {
    throw error instanceof LocalError ? new StartupError(error.message, { cause: error }) : error;
  }
}

/**
 * The configuration for a local instance, with its token and the local values of the service's own variables unless the environment has
 * others.
 *
 * @throws StartupError
 */
export async function localConfig(
  config: Config,
  local: LocalInstance,
  variables: ServiceVariables = {},
): Promise<ServiceConfig> {
  const { auth } = config;
  const own =
    auth.token === undefined
      ? { ...auth, token: await local.token(), isTokenGenerated: true }
      : auth;
  const values = { ...config.variables, ...(await localValues(config, local, variables)) };
  return withDatabase({ ...config, auth: own, variables: values }, local.url);
}

async function localValues(config: Config, local: LocalInstance, variables: ServiceVariables) {
  const texts = await localTexts(config, local, variables);
  const read = Object.entries(variables).filter(([name]) => name in texts);
  const { values, mistakes } = readVariables(Object.fromEntries(read), texts);
  if (mistakes.length > 0) throw new StartupError(mistakes.join('\n'));
  return values;
}

/** The texts of the local values of the service's own variables that the environment does not set. */
export async function localTexts(
  config: Config,
  local: LocalInstance,
  variables: ServiceVariables,
): Promise<Readonly<Record<string, string>>> {
  const texts: Record<string, string> = {};
  for (const [name, { local: text }] of Object.entries(variables)) {
    if (text === undefined || config.variables[name] !== undefined) continue;
    texts[name] = typeof text === 'function' ? await local.secret(name, text) : text;
  }
  return texts;
}

/**
 * The URL of the database of a command: `DATABASE_URL`, or the instance that `npm start` runs in the working directory.
 *
 * @throws StartupError
 */
export async function findDatabase(
  identity: Identity,
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  const { databaseUrl } = readCommandConfig(withEnvFile(environment));
  if (databaseUrl !== undefined) return databaseUrl;
  const { runningDatabase } = await installed();
  const url = await runningDatabase(identity, signal);
  if (url !== undefined) return url;
  throw new StartupError(
    'DATABASE_URL is not set, and no local instance runs in this folder: set it, or run `npm start`',
  );
}

/** Not installed in production. With strict package managers, only the service can import it. */
async function installed(): Promise<typeof Local> {
  try {
    return await import('@resource-service/local').catch(
      () => import(pathToFileURL(installedPackage('@resource-service/local')).href),
    );
  } catch (cause) {
    throw new StartupError(
      'DATABASE_URL is not set, and the local database is not installed: set it, or install the development dependency @resource-service/local',
      { cause },
    );
  }
}
