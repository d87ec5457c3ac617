import { isIP } from 'node:net';
import { localAddress, readConfig, StartupError } from '@resource-service/framework/command';
import type { Config } from '@resource-service/framework/command';
import type { Identity } from '@resource-service/framework/identity';

/** The service that runs on the variables of this process. */
export interface OwnService {
  readonly url: string;
  /** `undefined` if the service accepts only other tokens. */
  readonly token: string | undefined;
}

/** The service beside the command, in a container of the service: `docker compose exec api tool-library export`. */
export function ownService(
  identity: Identity,
  environment: NodeJS.ProcessEnv,
): OwnService | undefined {
  const config = configOf(identity, environment);
  // Without it, these are not the variables of a service. A random port is unknown here.
  if (config?.database.url === undefined) return undefined;
  const { http, auth } = config;
  if (http.port === 0) return undefined;
  const family = isIP(http.host) === 6 ? 'IPv6' : 'IPv4';
  const url = localAddress(http, { address: http.host, family, port: http.port });
  return { url, token: auth.token };
}

function configOf(identity: Identity, environment: NodeJS.ProcessEnv): Config | undefined {
  try {
    return readConfig(identity, environment);
  } catch (error) {
    if (error instanceof StartupError) return undefined;
    throw error;
  }
}
