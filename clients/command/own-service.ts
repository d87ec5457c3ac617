import { isIP } from 'node:net';
import { readConfig } from '../../packages/framework/src/config/config.js';
import type { Config } from '../../packages/framework/src/config/config.js';
import { StartupError } from '../../packages/framework/src/errors/startup.error.js';
import { IDENTITY } from '../../src/identity.js';
import { localAddress } from '../../packages/framework/src/local/welcome.js';

/** The service that runs on the variables of this process. */
export interface OwnService {
  readonly url: string;
  /** `undefined` if the service accepts only other tokens. */
  readonly token: string | undefined;
}

/** The service beside the command, in a container of the service: `docker compose exec api plant-store export`. */
export function ownService(environment: NodeJS.ProcessEnv): OwnService | undefined {
  const config = configOf(environment);
  // Without it, these are not the variables of a service. A random port is unknown here.
  if (config?.database.url === undefined) return undefined;
  const { http, auth } = config;
  if (http.port === 0) return undefined;
  const family = isIP(http.host) === 6 ? 'IPv6' : 'IPv4';
  const url = localAddress(http, { address: http.host, family, port: http.port });
  return { url, token: auth.token };
}

function configOf(environment: NodeJS.ProcessEnv): Config | undefined {
  try {
    return readConfig(IDENTITY, environment);
  } catch (error) {
    if (error instanceof StartupError) return undefined;
    throw error;
  }
}
