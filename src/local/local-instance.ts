import { resolve } from 'node:path';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { localToken } from './local-token.js';
import { withDatabase } from '../config/config.js';
import type { Config, ServiceConfig } from '../config/config.js';
import { startEmbeddedPostgres } from './embedded-postgres.js';
import { welcome } from './welcome.js';

/** What an instance without a `DATABASE_URL` adds: its own database, and a token to begin with. */
interface LocalInstance {
  readonly config: ServiceConfig;
  /** What a person needs for a first request. */
  welcome(address: AddressInfo): string;
  /** Stops the database. */
  stop(): Promise<void>;
}

/** Everything it keeps lies here, below the folder that the service is started in. */
export const LOCAL_FOLDER = '.data';

/**
 * @throws StartupError
 * @throws AbortError when `signal` ends the start
 */
export async function startLocalInstance(
  config: Config,
  logger: Logger,
  signal: AbortSignal,
): Promise<LocalInstance> {
  const folder = resolve(LOCAL_FOLDER);
  const log = (step: string) => logger.info(step);
  const postgres = await startEmbeddedPostgres(folder, { log, signal });
  let readyMade: string | undefined;
  try {
    if (config.auth.token === undefined) readyMade = await localToken(folder);
  } catch (error) {
    await postgres.stop();
    throw error;
  }
  return {
    config: withDatabase(
      { ...config, auth: { ...config.auth, token: config.auth.token ?? readyMade } },
      postgres.url,
    ),
    welcome: (address) => welcome(config, address, readyMade),
    stop: () => postgres.stop(),
  };
}
