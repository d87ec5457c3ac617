import { resolve } from 'node:path';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { localToken } from './local-token.js';
import { withDatabase } from '../config/config.js';
import type { Config } from '../config/config.js';
import { startEmbeddedPostgres } from './embedded-postgres.js';
import { welcome } from './welcome.js';

/** The folder of the database and the token, in the working directory. */
export const LOCAL_FOLDER = '.data';

/**
 * Starts what the service uses without `DATABASE_URL`: an embedded database and a generated token.
 *
 * @throws StartupError
 * @throws AbortError when `signal` aborts the start
 */
export async function startLocalInstance(config: Config, logger: Logger, signal: AbortSignal) {
  const folder = resolve(LOCAL_FOLDER);
  const log = (step: string) => logger.info(step);
  const postgres = await startEmbeddedPostgres(config.identity, folder, { log, signal });
  const token =
    config.auth.token ??
    (await localToken(folder).catch(async (error: unknown) => {
      await postgres.stop();
      throw error;
    }));
  const generatedToken = config.auth.token === undefined ? token : undefined;
  const auth = { ...config.auth, token, isTokenGenerated: generatedToken !== undefined };
  return {
    config: withDatabase({ ...config, auth }, postgres.url),
    /** The text for the terminal, with everything that a first request needs. */
    welcome: (address: AddressInfo) => welcome(config, address, generatedToken),
    /** Stops the database. */
    stop: () => postgres.stop(),
  };
}
