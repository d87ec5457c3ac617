import { resolve } from 'node:path';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { localToken } from './local-token.js';
import { withDatabase } from '../config/config.js';
import type { Config, ServiceConfig } from '../config/config.js';
import { startEmbeddedPostgres } from './embedded-postgres.js';
import { welcome } from './welcome.js';

/** What the service uses without `DATABASE_URL`: an embedded database and a generated token. */
interface LocalInstance {
  readonly config: ServiceConfig;
  /** The text for the terminal, with everything that a first request needs. */
  welcome(address: AddressInfo): string;
  /** Stops the database. */
  stop(): Promise<void>;
}

/** The folder of the database and the token, in the working directory. */
export const LOCAL_FOLDER = '.data';

/**
 * @throws StartupError
 * @throws AbortError when `signal` aborts the start
 */
export async function startLocalInstance(
  config: Config,
  logger: Logger,
  signal: AbortSignal,
): Promise<LocalInstance> {
  const folder = resolve(LOCAL_FOLDER);
  const log = (step: string) => logger.info(step);
  const postgres = await startEmbeddedPostgres(folder, { log, signal });
  const token =
    config.auth.token ??
    (await localToken(folder).catch(async (error: unknown) => {
      await postgres.stop();
      throw error;
    }));
  const generatedToken = config.auth.token === undefined ? token : undefined;
  return {
    config: withDatabase({ ...config, auth: { ...config.auth, token } }, postgres.url),
    welcome: (address) => welcome(config, address, generatedToken),
    stop: () => postgres.stop(),
  };
}
