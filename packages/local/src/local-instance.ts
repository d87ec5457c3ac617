import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Identity } from './create-cluster.js';
import { startEmbeddedPostgres } from './embedded-postgres.js';
import { localSecret, secretOf, TOKEN } from './local-secret.js';
import { forgetLibpqVariables, readyServer } from './postgres-server.js';

/** The folder of the database and the secrets, in the working directory. */
const FOLDER = '.data';

interface LocalInstanceOptions {
  /** Called before each step that can take long. */
  readonly log: (step: string) => void;
  /** Aborts the start. */
  readonly signal: AbortSignal;
}

export interface LocalInstance {
  /** Of its database. */
  readonly url: string;
  /**
   * Generated once and stored beside the database.
   *
   * @throws LocalError
   */
  token(): Promise<string>;
  /**
   * Another secret, made once and stored beside the database.
   *
   * @example
   *   const key = await local.secret('MAIL_KEY', () => randomBytes(32).toString('base64'));
   * @param variable of the environment, which replaces it
   * @throws LocalError
   */
  secret(variable: string, make: () => string): Promise<string>;
  /** Stops the database. */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL server of the working directory, with its data in `.data/`. There is one instance for each directory.
 *
 * @example
 *   const local = await startLocalInstance({ name: 'tool-library' }, { log: console.log, signal });
 *   try {
 *     await run({ DATABASE_URL: local.url, AUTH_TOKEN: await local.token() });
 *   } finally {
 *     await local.stop();
 *   }
 * @throws LocalError
 * @throws AbortError when `signal` aborts the start
 */
export async function startLocalInstance(
  identity: Identity,
  options: LocalInstanceOptions,
): Promise<LocalInstance> {
  const folder = resolve(FOLDER);
  const { url, stop } = await startEmbeddedPostgres(identity, folder, options);
  return {
    url,
    token: () => localSecret(folder, TOKEN),
    secret: (variable, make) => localSecret(folder, secretOf(variable, make)),
    stop,
  };
}

/**
 * The URL of the database of the instance that runs in the working directory, if any, for a second program.
 *
 * @example
 *   const url = process.env.DATABASE_URL ?? (await runningDatabase({ name: 'tool-library' }, signal));
 */
export async function runningDatabase(
  identity: Identity,
  signal: AbortSignal,
): Promise<string | undefined> {
  forgetLibpqVariables();
  const path = resolve(FOLDER, 'postgres');
  const password = await readFile(join(path, 'password'), 'utf8').catch(() => undefined);
  if (password === undefined) return undefined;
  const server = await readyServer({ identity, path }, password.trim(), signal);
  await server?.session.end();
  return server?.url;
}
